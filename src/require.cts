// What `require` finds where Node cannot load this package from CommonJS: a Node that is too old, or a test runner that
// puts a module system of its own in Node's place. It says what to do instead of failing on the first `import`.
throw new Error(
  `app-hosting-service is an ES module, and require() cannot load it here (Node.js ${process.versions.node}). ` +
    'Use Node.js 20.19 or newer, or await import("app-hosting-service"); ' +
    "for Jest: NODE_OPTIONS=--experimental-vm-modules npx jest, with import instead of require.",
);
