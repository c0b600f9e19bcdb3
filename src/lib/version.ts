// The package version, for the OpenAPI document, the User-Agent of deliveries and --version. A test compares it with
// package.json, which is not read at run time so that start-up reads one file less.
export const VERSION = "0.1.0";
