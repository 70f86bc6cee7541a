//! CSL in Zed: starts the language server that is on the PATH.
use zed_extension_api::{self as zed, Command, LanguageServerId, Result, Worktree};

struct CslExtension;

impl zed::Extension for CslExtension {
    fn new() -> Self {
        CslExtension
    }

    fn language_server_command(
        &mut self,
        _server: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Command> {
        let server = worktree
            .which("csl-ls")
            .ok_or("csl-ls is not on the PATH; install the CSL toolchain, or add its folder 'bin'")?;
        Ok(Command {
            command: server,
            args: vec!["--stdio".to_string()],
            env: worktree.shell_env(),
        })
    }
}

zed::register_extension!(CslExtension);
