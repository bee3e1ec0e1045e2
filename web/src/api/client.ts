/** Calls of the server's routes, typed by its OpenAPI document. */
import type { paths } from "./schema";

type Method = "get" | "post" | "put" | "patch";
type WithMethod<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];
type Operation<P extends keyof paths, M extends Method> = paths[P] extends Record<M, infer O> ? O : never;
type PathOf<O> = O extends { parameters: { path: infer V } } ? V : undefined;
type QueryOf<O> = O extends { parameters: { query?: infer V } } ? V : undefined;
type BodyOf<O> = O extends { requestBody?: { content: { "application/json": infer V } } } ? V : undefined;
type ResultOf<O> = O extends { responses: infer R }
  ? { [S in keyof R]: R[S] extends { content: { "application/json": infer V } } ? V : never }[keyof R]
  : never;

export interface CallOptions<O> {
  path?: PathOf<O>;
  query?: QueryOf<O>;
  body?: BodyOf<O>;
  signal?: AbortSignal;
  /** Repeating a write with the same key returns the first result. */
  idempotencyKey?: string;
}

interface UntypedOptions {
  path?: unknown;
  query?: unknown;
  body?: unknown;
  signal?: AbortSignal;
  idempotencyKey?: string;
}

/** An error of the server in its one form, or the loss of the connection (status 0). */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly code: string,
    readonly status: number,
    readonly hint?: string,
    readonly path?: string,
  ) {
    super(message);
  }

  get isOffline(): boolean {
    return this.status === 0;
  }
}

type Values = Record<string, unknown>;

export class Client {
  constructor(private readonly send: typeof fetch = (...given) => fetch(...given)) {}

  get<P extends WithMethod<"get">>(path: P, options: CallOptions<Operation<P, "get">> = {}) {
    return this.call<ResultOf<Operation<P, "get">>>("GET", path, options);
  }
  post<P extends WithMethod<"post">>(path: P, options: CallOptions<Operation<P, "post">> = {}) {
    return this.call<ResultOf<Operation<P, "post">>>("POST", path, options);
  }
  put<P extends WithMethod<"put">>(path: P, options: CallOptions<Operation<P, "put">> = {}) {
    return this.call<ResultOf<Operation<P, "put">>>("PUT", path, options);
  }
  patch<P extends WithMethod<"patch">>(path: P, options: CallOptions<Operation<P, "patch">> = {}) {
    return this.call<ResultOf<Operation<P, "patch">>>("PATCH", path, options);
  }

  /** A route that the document does not describe yet; prefer the typed methods. */
  async call<R>(method: string, path: string, options: UntypedOptions = {}): Promise<R> {
    const headers: Record<string, string> = {};
    const init: RequestInit = { method, headers, credentials: "same-origin" };
    if (method !== "GET") {
      headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(options.body ?? {});
    }
    if (options.idempotencyKey) headers["Idempotency-Key"] = options.idempotencyKey;
    if (options.signal) init.signal = options.signal;
    return (await (await this.fetch(address(path, options.path, options.query), init)).json()) as R;
  }

  /** The answer of a route as it is; raises the server's error. */
  async fetch(url: string, init: RequestInit): Promise<Response> {
    let response: Response;
    try {
      response = await this.send(url, init);
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new ApiError("The server does not answer.", "OFFLINE", 0);
    }
    if (!response.ok) throw await errorOf(response);
    return response;
  }
}

async function errorOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as Record<string, string | undefined>;
  const message = body["error"] ?? `the server answered ${response.status}`;
  return new ApiError(message, body["code"] ?? "INTERNAL", response.status, body["hint"], body["path"]);
}

/** A path with its parameters and query; a list is repeated, what is undefined is left out. */
export function address(path: string, parameters?: unknown, query?: unknown): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String((parameters as Values | undefined)?.[name])),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries((query ?? {}) as Values)) {
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (each === undefined || each === null) continue;
      search.append(name, typeof each === "string" ? each : JSON.stringify(each));
    }
  }
  const suffix = search.toString();
  return suffix ? `${filled}?${suffix}` : filled;
}

export const api = new Client();
