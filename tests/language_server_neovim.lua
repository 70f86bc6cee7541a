-- Neovim's own client asks csl-ls; tests/test_language_server_neovim.py reads what it prints.
--   nvim --headless -u NONE -c "luafile this" with CSL_LS, CSL_FILE, CSL_OUT in the environment
local result = {}

local function ask(buffer, method, params, key)
  local answers, failure = vim.lsp.buf_request_sync(buffer, method, params, 20000)
  result[key] = failure or vim.NIL
  for _, answer in pairs(answers or {}) do
    result[key] = answer.error or answer.result or vim.NIL
  end
end

local function run()
  local path = os.getenv("CSL_FILE")
  vim.cmd("edit " .. path)
  local buffer = vim.api.nvim_get_current_buf()
  local client = vim.lsp.start_client({ cmd = { os.getenv("CSL_LS") }, root_dir = vim.fn.getcwd() })
  vim.lsp.buf_attach_client(buffer, client)
  vim.wait(20000, function()
    local found = vim.lsp.get_client_by_id(client)
    return found ~= nil and found.initialized
  end, 20)
  vim.fn.search("twice;")
  vim.cmd("normal! iun")                        -- a mistake: `untwice`
  vim.wait(20000, function() return #vim.diagnostic.get(buffer) > 0 end, 20)
  for _, d in ipairs(vim.diagnostic.get(buffer)) do
    table.insert(result, { line = d.lnum, column = d.col, message = d.message })
  end
  vim.cmd("undo")
  vim.wait(20000, function() return #vim.diagnostic.get(buffer) == 0 end, 20)
  vim.fn.search("add(1")
  local here = vim.lsp.util.make_position_params()
  ask(buffer, "textDocument/hover", here, "hover")
  ask(buffer, "textDocument/definition", here, "definition")
  ask(buffer, "textDocument/completion", here, "completion")
  ask(buffer, "textDocument/documentSymbol", here, "outline")
  ask(buffer, "textDocument/references",
      vim.tbl_extend("force", here, { context = { includeDeclaration = true } }), "references")
  vim.lsp.buf.rename("plus")
  vim.wait(20000, function()
    return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), "\n"):find("fn plus") ~= nil
  end, 20)
  vim.lsp.buf.formatting_sync({}, 20000)
  return { messages = { unpack(result) }, answers = {
    hover = result.hover, definition = result.definition, completion = result.completion,
    outline = result.outline, references = result.references },
    left = #vim.diagnostic.get(buffer),
    text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), "\n") }
end

local ok, report = pcall(run)
local out = io.open(os.getenv("CSL_OUT"), "w")
out:write(vim.json.encode(ok and report or { failure = tostring(report) }))
out:close()
vim.cmd("qall!")
