// The package's version: of the OpenAPI document, of the User-Agent of deliveries, of --version. A test holds it to
// package.json, which is not read at run time so that start-up touches one file less.
export const VERSION = "0.1.0";
