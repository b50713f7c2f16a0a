#!/usr/bin/env node
// Runs the program of the package for this platform, which npm installs as an optional dependency.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";

const name = `git-empirica-${process.platform}-${process.arch}`;
let program;
try {
  program = createRequire(import.meta.url).resolve(`${name}/bin/git-empirica`);
} catch {
  console.error(`error: cannot find git-empirica for ${process.platform} on ${process.arch}: the package ${name} is not installed`);
  console.error("hint: it is an optional dependency: reinstall without --omit=optional, or build it with cargo");
  process.exit(1);
}
let child;
// A terminal sends SIGINT and SIGQUIT to the child as well.
const forwarded = ["SIGTERM", "SIGHUP", ...(process.stdin.isTTY ? [] : ["SIGINT", "SIGQUIT"])];
for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, () => {});
for (const signal of forwarded) process.on(signal, () => child.kill(signal));
child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`error: cannot run ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
