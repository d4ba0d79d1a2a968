// Requests of a client.
import { context, propagation, ROOT_CONTEXT } from "@opentelemetry/api";
import { Client, type ClientOptions, type Filter, parseDefinition, type Run, type StartOptions, type TlsOptions } from "@perdure/client";
import { Attempt_Outcome, Phase, StepView_State, Workflow_State } from "@perdure/client/stubs";

import { given, type Line, list, ofError, ofFailure, ofValue, text, toValue, UsageError, writeLine } from "./lines.js";
import { ofEvent, ofRegistered, ofWorkflow } from "./views.js";
import { AesGcm } from "@perdure/client";

interface Watch {
  readonly stop: AbortController;
  readonly over: Promise<void>;
}

/** All clients of the driver, and their watches. */
export class Clients {
  readonly #clients = new Map<string, Client>();
  readonly #watches = new Map<string, Watch>();

  get(line: Line): Client {
    const client = this.#clients.get(text(line, "client"));
    if (client === undefined) throw new UsageError(`there is no client ${text(line, "client")}`);
    return client;
  }

  open(line: Line): Line {
    const named = { address: "address", namespace: "namespace", token: "token", token_file: "tokenFile", timeout_ms: "timeout", connect_timeout_ms: "connectTimeout" };
    const options: ClientOptions = {
      ...given(line, named),
      ...("tls" in line ? { tls: tlsOf(line["tls"]) } : {}),
      ...("codec_keys" in line ? { codec: AesGcm.fromFile(text(line, "codec_keys")) } : {}),
    };
    this.#clients.set(text(line, "client"), new Client(options));
    return {};
  }

  close(line: Line): Line {
    this.get(line).close();
    this.#clients.delete(text(line, "client"));
    return {};
  }

  closeAll(): void {
    for (const watch of this.#watches.values()) watch.stop.abort();
    for (const client of this.#clients.values()) client.close();
  }

  async start(line: Line): Promise<Line> {
    const names = {
      ...{ key: "key", labels: "labels", request_id: "requestId", on_open: "onOpen", on_closed: "onClosed", priority: "priority", queue: "queue" },
      ...{ step_queues: "stepQueues", fairness_key: "fairnessKey", fairness_weight: "fairnessWeight", workflow_timeout_ms: "workflowTimeout" },
      ...{ retention_ms: "retention", definition_fingerprint: "definitionFingerprint", validate_only: "validateOnly" },
    };
    const options = {
      ...given(line, names),
      ...("input" in line ? { input: toValue(line["input"]) } : {}),
      ...("start_at" in line ? { startAt: new Date(text(line, "start_at")) } : {}),
      ...("expected_fence" in line ? { expectedFence: fenceOf(line) } : {}),
      signals: list(line, "signals").map((signal) => ({
        name: text(signal, "name"),
        ...("value" in signal ? { payload: toValue(signal["value"]) } : {}),
        ...given(signal, { signal_id: "signalId" }),
      })),
    } as unknown as StartOptions;
    const parent = "traceparent" in line ? propagation.extract(ROOT_CONTEXT, { traceparent: text(line, "traceparent") }) : context.active();
    const run = await context.with(parent, () => this.get(line).start(text(line, "type"), options));
    const { created, runId, fence, state, definitionFingerprint } = run.started ?? {};
    return { created, run_id: runId, round: run.ref.round ?? 0, fence, state, definition_fingerprint: definitionFingerprint };
  }

  async signal(line: Line): Promise<Line> {
    const payload = "value" in line ? toValue(line["value"]) : undefined;
    const options = given(line, { signal_id: "signalId" });
    const sent =
      "wake_token" in line
        ? await this.get(line).signal(text(line, "wake_token"), text(line, "name"), payload, options)
        : await this.#run(line).signal(text(line, "name"), payload, options);
    return { duplicate: sent.duplicate, consumed: sent.consumed, signal_id: sent.signalId };
  }

  async result(line: Line): Promise<Line> {
    return { value: ofValue(await this.#run(line).result(given(line, { timeout_ms: "timeout" }))) };
  }

  async read(line: Line): Promise<Line> {
    const run = this.#run(line);
    return ofWorkflow(await run.get(), run);
  }

  async list(line: Line): Promise<Line> {
    const workflows: Line[] = [];
    const filter = given(line, { type: "workflow", states: "states", labels: "labels", keys: "keys" }) as Filter;
    for await (const workflow of this.get(line).list(filter, { oldestFirst: line["oldest_first"] === true })) workflows.push(await ofWorkflow(workflow));
    return { workflows };
  }

  async children(line: Line): Promise<Line> {
    const workflows: Line[] = [];
    for await (const workflow of this.#run(line).children(given(line, { step: "step" }))) workflows.push(await ofWorkflow(workflow));
    return { workflows };
  }

  async attempts(line: Line): Promise<Line> {
    const attempts: Line[] = [];
    for await (const one of this.#run(line).attempts(line["step"] as string | undefined)) {
      const { step, claimNo, attempt, outcome, charged, workerId, failure } = one;
      const told = failure === undefined ? {} : { failure: { type: failure.type, message: failure.message, non_retryable: failure.nonRetryable } };
      attempts.push({ step, claim_no: claimNo, attempt, outcome: Attempt_Outcome[outcome], charged, worker_id: workerId, ...told });
    }
    return { attempts };
  }

  async count(line: Line): Promise<Line> {
    const filter = given(line, { type: "workflow", states: "states", labels: "labels" }) as Filter;
    const { count, estimate } = await this.get(line).count(filter);
    return { count, is_estimate: estimate };
  }

  async explain(line: Line): Promise<Line> {
    const found = await this.#run(line).explain(line["step"] as string | undefined);
    const steps = found.steps.map(({ step, state, phase, blockers }) => ({
      step,
      state: StepView_State[state],
      phase: phaseName(phase),
      blockers: blockers.map((blocker) => snake(blocker.kind.case ?? "")),
    }));
    return { state: Workflow_State[found.state], phase: phaseName(found.phase), steps };
  }

  async verb(line: Line): Promise<Line> {
    const run = this.#run(line);
    const options = given(line, { reason: "reason", request_id: "requestId" });
    switch (line["do"]) {
      case "cancel":
        return { state: await run.cancel(options) };
      case "replay":
        return { reopened_steps: await run.replay({ ...options, ...given(line, { reopen: "reopen" }) }) };
      case "terminate":
        await run.terminate(options);
        return {};
      case "pause":
        await run.pause(options);
        return {};
      case "resume":
        await run.resume(options);
        return {};
      default:
        await run.delete(options);
        return {};
    }
  }

  async apply(line: Line): Promise<Line> {
    const options = given(line, { activate: "activate", update_policy: "updatePolicy" });
    return ofRegistered(await this.get(line).definitions.register(parseDefinition(text(line, "definition")), options));
  }

  async validate(line: Line): Promise<Line> {
    return ofRegistered(await this.get(line).definitions.validate(parseDefinition(text(line, "definition"))));
  }

  watch(line: Line): Line {
    const name = text(line, "watch");
    const stop = new AbortController();
    const options = given(line, { frames: "frames", follow: "follow", resume_token: "resumeToken" });
    const run = this.#run(line);
    const told = async (): Promise<void> => {
      let token = "";
      try {
        for await (const event of run.watch({ ...options, signal: stop.signal })) {
          token = event.resumeToken;
          const line = { event: "watch", watch: name, kind: event.kind, resume_token: token, ...(await ofEvent(event, run)) };
          if (stop.signal.aborted) return;
          writeLine(line);
        }
        writeLine({ event: "watch", watch: name, kind: "closed", resume_token: token });
      } catch (error) {
        if (!stop.signal.aborted) writeLine({ event: "watch", watch: name, kind: "error", resume_token: token, error: ofError(error) });
      }
    };
    this.#watches.set(name, { stop, over: told() });
    return {};
  }

  async unwatch(line: Line): Promise<Line> {
    const watch = this.#watches.get(text(line, "watch"));
    watch?.stop.abort();
    await watch?.over;
    this.#watches.delete(text(line, "watch"));
    return {};
  }

  #run(line: Line): Run {
    const options = { ...given(line, { round: "round" }), ...("expected_fence" in line ? { expectedFence: fenceOf(line) } : {}) };
    return this.get(line).run(text(line, "type"), text(line, "key"), options);
  }
}

function fenceOf(line: Line): bigint {
  return BigInt(line["expected_fence"] as number | bigint);
}

function tlsOf(tls: unknown): TlsOptions | boolean {
  if (typeof tls === "boolean") return tls;
  return given(tls as Line, { ca_file: "caFile", cert_file: "certFile", key_file: "keyFile", server_name: "serverName" });
}

function phaseName(phase: Phase): string {
  return phase === Phase.UNSPECIFIED ? "" : Phase[phase];
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export { ofFailure };
