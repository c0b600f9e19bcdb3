// Preloaded into every measured server: reports the CPU time of its process over IPC. For "heap", it collects garbage
// first. It exits with its parent.
process.on("message", (question) => {
  if (question !== "usage" && question !== "heap") return;
  if (question === "heap") global.gc();
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  process.send({ cpu_us: user + system, rss, heap: heapUsed });
});
process.on("disconnect", () => process.exit());
// The IPC channel keeps no server alive. The thread in which tsx loads modules has no channel.
process.channel?.unref();
