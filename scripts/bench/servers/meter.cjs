// Loaded before every server that is measured: answers what its process has used so far, when asked over IPC; asked for
// the "heap", it first clears away what nobody needs any more. It ends with who asks.
process.on("message", (question) => {
  if (question !== "usage" && question !== "heap") return;
  if (question === "heap") global.gc();
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  process.send({ cpu_us: user + system, rss, heap: heapUsed });
});
process.on("disconnect", () => process.exit());
// Being measured keeps no server alive. The thread in which tsx loads modules has no channel.
process.channel?.unref();
