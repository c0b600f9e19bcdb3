// Loaded before every server that is measured: answers what its process has used so far, when asked over IPC.
process.on("message", (question) => {
  if (question !== "usage") return;
  const { user, system } = process.cpuUsage();
  process.send({ cpu_us: user + system, rss: process.memoryUsage.rss() });
});
// Being measured keeps no server alive.
process.channel.unref();
