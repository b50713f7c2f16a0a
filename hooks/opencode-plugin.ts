// git-empirica: tells `git-empirica hook agent opencode` what happens in a session, and OpenCode what it answers.
// Written by `git empirica init --agents opencode`, taken back by `git empirica deinit`; also the package of package.json.
import { spawn } from "node:child_process"

// One event, as JSON on standard input. Without the program, and when it fails, there is no answer.
const hook = (cwd, event, session, more = {}, ms = 5000) =>
  new Promise((done) => {
    const payload = { hook_event_name: event, session_id: session, cwd, ...more }
    try {
      const child = spawn("git-empirica", ["hook", "agent", "opencode", event], { cwd, stdio: ["pipe", "pipe", "ignore"] })
      const timer = setTimeout(() => child.kill(), ms)
      let out = ""
      child.stdout.on("data", (data) => (out += data))
      child.stdin.on("error", () => {})
      child.on("error", () => (clearTimeout(timer), done("")))
      child.on("close", () => (clearTimeout(timer), done(contextOf(out))))
      child.stdin.end(JSON.stringify(payload))
    } catch {
      done("")
    }
  })

// The context of an answer; an answer that is no JSON has none.
const contextOf = (out) => {
  try {
    return JSON.parse(out).additionalContext ?? ""
  } catch {
    return ""
  }
}

// What is known of the sessions of one project. A session of a subagent counts toward its parent.
const sessions = (cwd) => {
  const context = new Map()
  const children = new Map()
  const failed = new Set()
  const begin = (id) => {
    if (!context.has(id)) context.set(id, hook(cwd, "session.created", id, {}, 10000))
    return context.get(id)
  }
  return {
    // What the model is told of this session: asked for once, so that the text stays the same.
    context: async (id) => (id && !children.has(id) ? await begin(id) : ""),
    created: (id, parent) => (parent ? children.set(id, parent) : begin(id)),
    // The session that a tool call of this one counts toward.
    of: (id) => {
      while (children.has(id)) id = children.get(id)
      return id
    },
    prompted: async (id, prompt) => {
      if (!id || children.has(id)) return
      await begin(id)
      const more = await hook(cwd, "chat.message", id, { prompt })
      if (more) context.set(id, Promise.resolve([await begin(id), more].filter(Boolean).join("\n\n")))
    },
    compacting: async (id) => {
      if (!id || children.has(id)) return ""
      await begin(id)
      return await hook(cwd, "experimental.session.compacting", id)
    },
    compacted: async (id) => {
      if (!id || children.has(id)) return
      const block = await hook(cwd, "session.compacted", id, {}, 10000)
      if (block) context.set(id, Promise.resolve(block))
    },
    idle: async (id) => {
      if (!id || children.has(id)) return
      await begin(id)
      await hook(cwd, "session.idle", id, {}, 10000)
    },
    failed: async (id, call, tool, input, error) => {
      while (children.has(id)) id = children.get(id)
      if (!id || failed.has(call)) return
      failed.add(call)
      await begin(id)
      await hook(cwd, "message.part.updated", id, { tool_name: tool, tool_input: input, error })
    },
    // What the model is told with the result of a call that read or changed files.
    touched: async (id, tool, input) => {
      if (!id || children.has(id) || !context.has(id)) return ""
      await begin(id)
      return await hook(cwd, "tool.execute.after", id, { tool_name: tool, tool_input: input })
    },
    deleted: async (id) => id && !children.delete(id) && context.delete(id) && (await hook(cwd, "session.deleted", id, {}, 10000)),
    dispose: async () => {
      const open = [...context.keys()]
      context.clear()
      await Promise.all(open.map((id) => hook(cwd, "dispose", id)))
    },
  }
}

// Nothing that goes wrong here may stop the work.
const quietly = (f) => async (...given) => {
  try {
    await f(...given)
  } catch {}
}

// How a call failed. A command that ends with an error is completed to OpenCode.
const failure = (state, error) => {
  if (state?.status === "error") return error || "failed"
  if (state?.status === "completed" && state.metadata?.exit) return `exit code ${state.metadata.exit}`
}

const texts = (parts) => (parts ?? []).filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n")

// The tools that read or change files.
const FILE_TOOLS = new Set(["read", "edit", "write", "patch", "multiedit", "bash"])

// A project can have it twice, as a file and as a package: only the one loaded last acts.
const last = (globalThis[Symbol.for("git-empirica")] ??= new Map())

const server = async ({ directory }) => {
  const known = sessions(directory)
  last.set(directory, known)
  const only = (f) => quietly(async (...given) => last.get(directory) === known && (await f(...given)))
  return {
    config: quietly(async (config) => {
      config.mcp ??= {}
      config.mcp.empirica ??= { type: "local", command: ["git-empirica", "mcp", "--tools", "core"], enabled: true }
    }),
    event: only(async ({ event }) => {
      const { info, part, sessionID } = event.properties ?? {}
      if (event.type === "session.created") known.created(info.id, info.parentID)
      if (event.type === "session.compacted") await known.compacted(sessionID)
      if (event.type === "session.idle") await known.idle(sessionID)
      if (event.type === "session.deleted") await known.deleted(info.id)
      if (event.type === "message.part.updated" && part?.type === "tool") {
        const error = failure(part.state, part.state?.error)
        if (error) await known.failed(part.sessionID, part.callID, part.tool, part.state.input, error)
      }
    }),
    // A call of our server, and a command in the shell, go to the session that makes them.
    "tool.execute.before": only(async ({ tool, sessionID }, output) => {
      if (tool.startsWith("empirica_") && output.args) output.args._session = known.of(sessionID)
    }),
    "tool.execute.after": only(async ({ tool, sessionID, args }, output) => {
      const more = FILE_TOOLS.has(tool) && typeof output?.output === "string" ? await known.touched(sessionID, tool, args) : ""
      if (more) output.output += `\n\n${more}`
    }),
    "shell.env": only(async ({ sessionID }, output) => {
      if (sessionID) output.env.OPENCODE_SESSION_ID = known.of(sessionID)
    }),
    "chat.message": only(async ({ sessionID }, output) => known.prompted(sessionID, texts(output?.parts))),
    "experimental.chat.system.transform": only(async ({ sessionID }, output) => {
      const context = await known.context(sessionID)
      if (context) output.system.push(context)
    }),
    "experimental.session.compacting": only(async ({ sessionID }, output) => {
      const context = await known.compacting(sessionID)
      if (context) output.context.push(context)
    }),
    dispose: only(() => known.dispose()),
  }
}

export default { id: "git-empirica", server }
