// A debugger of VS Code asks once for a connection.  A program that is still being compiled takes its
// time, so VS Code is connected to a port of this file, which waits for the program's.
const net = require("net");

const HOST = "127.0.0.1";
const RETRY_MS = 100;

// A port that nothing uses.
function findPort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer().once("error", reject);
    server.listen(0, HOST, () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

// Passes on what `client` says once something listens at `port`; then calls `connected`.
function connectWhenReady(client, port, connected) {
  const program = net.connect(port, HOST, () => {
    client.pipe(program).pipe(client);
    client.resume();
    connected();
  });
  client.once("close", () => program.destroy());
  program.once("error", () => {
    if (!client.destroyed) setTimeout(connectWhenReady, RETRY_MS, client, port, connected);
  });
}

// { port, isConnected, close }: a port for one client, who is connected as soon as something listens
// at `target`.  `close` ends the wait, and the connection.
function waitFor(target) {
  return new Promise((resolve, reject) => {
    const wait = { isConnected: false };
    const server = net.createServer({ pauseOnConnect: true }, (client) => {
      client.on("error", () => client.destroy());
      server.close();
      wait.close = () => client.destroy();
      connectWhenReady(client, target, () => { wait.isConnected = true; });
    }).once("error", reject);
    wait.close = () => server.close();
    server.listen(0, HOST, () => resolve(Object.assign(wait, { port: server.address().port })));
  });
}

module.exports = { findPort, waitFor };
