// Preloaded into every measured server: reports the CPU time of its process over IPC. It exits with its parent.
process.on("message", (question) => {
  if (question !== "usage") return;
  const { user, system } = process.cpuUsage();
  process.send({ cpu_us: user + system });
});
process.on("disconnect", () => process.exit());
// The IPC channel keeps no server alive. The thread in which tsx loads modules has no channel.
process.channel?.unref();
