// Carries out the checks of a client of PostgreSQL: check.mjs CLIENT HOST PORT DATABASE AUTHORITY. A line is printed for
// each check: "ok CHECK", or "failed CHECK TEXT".
const { checks, end } = await import(`./${process.argv[2]}.mjs`)
for (const [name, check] of Object.entries(checks)) {
  try {
    await check()
    console.log('ok', name)
  } catch (error) {
    console.log('failed', name, String(error.stack).replaceAll('\n', '\\n'))
  }
}
await end()
