// The official TypeScript client on a server: reads calls as lines of JSON, writes what the client made of each.
import { createInterface } from 'node:readline'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [folder, cwd, command, ...args] = process.argv.slice(2)
const require = createRequire(`${folder}/node_modules/`)
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/client/${name}.js`)))
const { Client } = await load('index')
const { StdioClientTransport } = await load('stdio')

const client = new Client({ name: 'typescript', version: '1' })
await client.connect(new StdioClientTransport({ command, args, cwd, stderr: 'inherit' }))
const say = (value) => process.stdout.write(JSON.stringify(value) + '\n')
// as agents do: from then on the client checks results against the schemas
const { tools } = await client.listTools()
say({ server: client.getServerVersion(), instructions: client.getInstructions(), tools: tools.map((tool) => tool.name) })
for await (const line of createInterface({ input: process.stdin })) {
  const { method, params } = JSON.parse(line)
  try {
    say({ result: await client[method](params) })
  } catch (error) {
    say({ refused: { code: error.code ?? null, message: String(error.message) } })
  }
}
await client.close()
