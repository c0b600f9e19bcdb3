// Requests in progress (1.test-controls). A change of the state waits for them and holds later ones back, so that
// every request is handled in one state.
import { appError } from "../domain/errors.ts";
import { CONTROL_PATH, type HttpRequest, type RequestHandler } from "../http/message.ts";
import { monotonicNow, nextTurn } from "../lib/clock.ts";
import { Mutex } from "../lib/tasks.ts";

/** Real time that clients have to send the rest of their bodies before the state changes. */
const SENDING_MS = 500;

export type RequestTracker = ReturnType<typeof createRequestTracker>;

export function createRequestTracker() {
  const mutex = new Mutex();
  const inProgress = new Set<{ stopReading: () => void }>();

  return {
    /** Returns a handler that tracks each request, except requests to the test controls. */
    wrap(handle: RequestHandler): RequestHandler {
      return async (request) => {
        if (request.path.startsWith(`${CONTROL_PATH}/`)) return handle(request);
        const entry = { stopReading: () => {} };
        await mutex.run(async () => inProgress.add(entry));
        const readBody: HttpRequest["readBody"] = (limit_bytes) =>
          new Promise((resolve, reject) => {
            entry.stopReading = () => resolve(appError({ code: "request_timeout" }));
            request.readBody(limit_bytes).then(resolve, reject);
          });
        return handle({ ...request, readBody }).finally(() => inProgress.delete(entry));
      };
    },

    /** Runs `work` while no request is in progress. `release` ends the delays of faults. */
    runBetweenRequests(release: () => void, work: () => Promise<void>): Promise<void> {
      return mutex.run(async () => {
        const deadline = monotonicNow() + SENDING_MS;
        for (; inProgress.size > 0; await nextTurn()) {
          release();
          if (monotonicNow() > deadline) for (const { stopReading } of inProgress) stopReading();
        }
        await work();
      });
    },
  };
}
