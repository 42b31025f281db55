// Calls a session function of the official TypeScript SDK: `node session_files.mjs FUNCTION [ARGUMENT...]`, each argument
// JSON. Prints the result as JSON.

const sdk = await import(process.env.HANDRAIL_TYPESCRIPT_SDK)
const [name, ...given] = process.argv.slice(2)
const result = await sdk[name](...given.map((argument) => JSON.parse(argument)))
process.stdout.write(JSON.stringify(result ?? null))
