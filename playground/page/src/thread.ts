// The page's side of a worker, which can be stopped and starts again by itself.
import type { Calls, CallName, Reply } from "./messages";

export class Stopped extends Error {}

export class Thread {
  private worker: Worker | undefined;
  private readonly waiting = new Map<number, { resolve(value: unknown): void;
                                               reject(error: Error): void }>();
  private last = 0;

  constructor(private readonly parts: Promise<Calls["start"]["args"]>) {}

  async call<N extends CallName>(name: N, args: Calls[N]["args"]): Promise<Calls[N]["result"]> {
    if (!this.worker) {
      this.worker = this.start();
      const parts = await this.parts;
      await this.post("start", parts);
    }
    return this.post(name, args);
  }

  /** Ends what the thread does; those who wait for it get a Stopped. */
  stop(): void {
    this.worker?.terminate();
    this.worker = undefined;
    for (const { reject } of this.waiting.values())
      reject(new Stopped("stopped"));
    this.waiting.clear();
  }

  private start(): Worker {
    const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("message", (event: MessageEvent<Reply>) => {
      const { id, result, error } = event.data, waiter = this.waiting.get(id);
      this.waiting.delete(id);
      if (error !== undefined)
        waiter?.reject(new Error(error));
      else
        waiter?.resolve(result);
    });
    return worker;
  }

  private post<N extends CallName>(name: N, args: Calls[N]["args"]): Promise<Calls[N]["result"]> {
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.worker!.postMessage({ id, name, args });
    });
  }
}
