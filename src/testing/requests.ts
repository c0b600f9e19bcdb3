// Requests in progress (1.test-controls). A change of the state waits for them and holds later ones back, so that
// every request is handled in one state.
import { appError } from "../domain/errors.ts";
import { CONTROL_PATH, type HttpRequest, type RequestHandler } from "../http/message.ts";
import { within } from "../lib/clock.ts";
import { Mutex, TaskTracker } from "../lib/tasks.ts";

/** Real time that clients have to send the rest of their bodies before the state changes. */
const SENDING_MS = 500;

export type RequestTracker = ReturnType<typeof createRequestTracker>;

export function createRequestTracker(onError: (error: unknown, during: string) => void) {
  const mutex = new Mutex();
  const inProgress = new TaskTracker(onError);
  /** Each ends the reading of one body. */
  const readers = new Set<() => void>();

  return {
    /** Returns a handler that tracks each request, except requests to the test controls. */
    wrap(handle: RequestHandler): RequestHandler {
      return async (request) => {
        if (request.path.startsWith(`${CONTROL_PATH}/`)) return handle(request);
        const readBody: HttpRequest["readBody"] = (limit_bytes) =>
          new Promise((resolve, reject) => {
            const stopReading = () => resolve(appError({ code: "request_timeout" }));
            readers.add(stopReading);
            const body = request.readBody(limit_bytes).finally(() => readers.delete(stopReading));
            body.then(resolve, reject);
          });
        const track = async () => ({
          response: inProgress.track(handle({ ...request, readBody })),
        });
        const { response } = await mutex.run(track);
        return response;
      };
    },

    /** Runs `work` while no request is in progress. `release` ends the delays of faults. */
    runBetweenRequests(release: () => void, work: () => Promise<void>): Promise<void> {
      return mutex.run(async () => {
        release();
        while (!(await within(SENDING_MS, inProgress.idle()))) {
          release();
          for (const stopReading of readers) stopReading();
        }
        await work();
      });
    },
  };
}
