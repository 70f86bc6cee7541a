// A public client of the protocol, driven by lines of JSON: a request, or a wait for an event.
// node client.js COMMAND ARGUMENT, or node client.js PORT for a server that waits.
'use strict';
const readline = require('readline');
const { DebugClient } = require('@vscode/debugadapter-testsupport');

const [first, argument] = process.argv.slice(2);
const isPort = /^\d+$/.test(first);
const client = new DebugClient(isPort ? '' : first, argument, 'csl', undefined, true);
const kept = {};                        // events by name, oldest first
const waiting = {};
const names = ['initialized', 'stopped', 'continued', 'exited', 'terminated', 'output', 'thread',
               'breakpoint', 'invalidated'];

function say(answer) {
  process.stdout.write(JSON.stringify(answer) + '\n');
}

for (const name of names) {
  kept[name] = [];
  waiting[name] = [];
  client.on(name, (event) => {
    const waiter = waiting[name].shift();
    if (waiter) {
      waiter(event.body);
    } else {
      kept[name].push(event.body);
    }
  });
}

function event(name) {
  if (kept[name].length) {
    return Promise.resolve(kept[name].shift());
  }
  return new Promise((resolve) => waiting[name].push(resolve));
}

async function carryOut(line) {
  const { id, request, args, wait, count } = JSON.parse(line);
  if (wait) {
    say({ id, body: await event(wait) });
  } else if (count) {
    say({ id, body: kept[count].length });
  } else {
    const answer = await client.send(request, args);
    say({ id, body: answer.body === undefined ? null : answer.body });
  }
}

client.start(isPort ? Number(first) : undefined).then(() => {
  const lines = readline.createInterface({ input: process.stdin });
  lines.on('line', (line) => carryOut(line).catch(
    (error) => say({ id: JSON.parse(line).id, why: error.message })));
  lines.on('close', () => client.stop().then(() => process.exit(0)));
});
