import type { CallOptions, Calls } from "./calls.js";
import { type Duration, durationOf } from "./durations.js";
import { NotFound } from "./errors.js";
import { AdminService } from "./gen/perdure/v1/admin_service_pb.js";
import type { Resource } from "./gen/perdure/v1/resource_pb.js";
import { knownId } from "./ids.js";
import { listed } from "./pages.js";
import { ErrorReason } from "./reasons.js";

/** The limits of a resource. */
export interface ResourceOptions extends CallOptions {
  /** Units that may be held at once. Absent: no such limit. */
  readonly capacity?: number | undefined;
  /** Starts per period. Absent: no such limit. */
  readonly rate?: { readonly units: number; readonly period: Duration; readonly burst?: number | undefined };
  /** Both limits count per value of this label. */
  readonly perLabel?: string | undefined;
  /** Both limits count per fairness key. */
  readonly perFairnessKey?: boolean | undefined;
  /** For people. */
  readonly description?: string | undefined;
  /** Only if it is unchanged since it was read. Absent: always. */
  readonly etag?: string | undefined;
}

/** The resources of one namespace, whose permits steps hold while they run; `client.resources`. */
export class Resources {
  readonly #calls: Calls;

  /** @internal */
  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Makes or changes a resource; it acts at once, and lowering revokes nothing. Rejects with InvalidRequest, Conflict.
   *
   * @param name - What steps name in `permits`.
   * @param options - Its limits.
   */
  async put(name: string, options: ResourceOptions): Promise<Resource> {
    const { capacity, rate, perLabel } = options;
    const key =
      perLabel === undefined
        ? options.perFairnessKey === true
          ? ({ case: "fairnessKey", value: true } as const)
          : undefined
        : ({ case: "label", value: perLabel } as const);
    const resource = {
      namespace: this.#calls.config.namespace,
      resource: name,
      description: options.description ?? "",
      etag: options.etag ?? "",
      ...(capacity === undefined ? {} : { capacity: BigInt(capacity) }),
      ...(rate === undefined
        ? {}
        : { rate: { units: BigInt(rate.units), period: durationOf(rate.period), burst: BigInt(rate.burst ?? 0) } }),
      ...(key === undefined ? {} : { key: { source: key } }),
    };
    const answer = await this.#calls.unary(AdminService.method.putResource, { resource, requestId: knownId(undefined) }, options);
    return known(name, answer.resource);
  }

  /**
   * One resource, with its use. Rejects with NotFound.
   *
   * @param name - Its name.
   * @param options - Of the call.
   */
  async get(name: string, options: CallOptions = {}): Promise<Resource> {
    const request = { namespace: this.#calls.config.namespace, resource: name };
    return known(name, (await this.#calls.unary(AdminService.method.listResources, request, options)).resources[0]);
  }

  /** All resources by name, with their use; pages are fetched as they are needed. */
  list(): AsyncGenerator<Resource, void, undefined> {
    const request = { namespace: this.#calls.config.namespace };
    return listed(this.#calls, AdminService.method.listResources, request, (answer) => answer.resources);
  }

  /**
   * Removes a resource that nobody uses. Rejects with NotFound, Conflict, NotAllowed (RESOURCE_IN_USE).
   *
   * @param name - Its name.
   * @param options - Of the call; `etag`: only if it is unchanged.
   */
  async delete(name: string, options: CallOptions & { readonly etag?: string | undefined } = {}): Promise<void> {
    const request = { namespace: this.#calls.config.namespace, resource: name, etag: options.etag ?? "", requestId: knownId(undefined) };
    await this.#calls.unary(AdminService.method.deleteResource, request, options);
  }
}

function known(name: string, resource: Resource | undefined): Resource {
  if (resource !== undefined) return resource;
  throw new NotFound(`there is no resource ${name}`, { reason: ErrorReason.RESOURCE_NOT_FOUND, code: "NOT_FOUND" });
}
