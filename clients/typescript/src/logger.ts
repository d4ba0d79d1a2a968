import type { Claim } from "./gen/perdure/v1/claim_pb.js";

/** Facts that go with a line of the log. Never a payload, never a token. */
export type LogFacts = Readonly<Record<string, unknown>>;

/** Where a worker writes what happens to it; pino, winston and `console` fit. */
export interface Logger {
  /** What is good to know. */
  info(text: string, facts?: LogFacts): void;
  /** What somebody may want to look at. */
  warn(text: string, facts?: LogFacts): void;
  /** What somebody should look at. */
  error(text: string, facts?: LogFacts): void;
}

/**
 * Warnings and errors on the console.
 * @internal
 */
export const consoleLogger: Logger = {
  info: () => undefined,
  warn: (text, facts) => {
    console.warn(`perdure: ${text}`, ...(facts === undefined ? [] : [facts]));
  },
  error: (text, facts) => {
    console.error(`perdure: ${text}`, ...(facts === undefined ? [] : [facts]));
  },
};

/**
 * The same logger, whose own errors end nothing.
 * @internal
 */
export function guarded(logger: Logger): Logger {
  const calmly = (level: keyof Logger) => (text: string, facts?: LogFacts): void => {
    try {
      logger[level](text, facts);
    } catch {
      // There is nobody left to tell.
    }
  };
  return { info: calmly("info"), warn: calmly("warn"), error: calmly("error") };
}

/**
 * What a line is about: the fields of the server's log.
 * @internal
 */
export function about(claim: Claim): LogFacts {
  const where = claim.workflow;
  const traceId = claim.traceparent.split("-")[1];
  return {
    workflow: `${where?.namespace ?? ""}/${where?.workflowType ?? ""}/${where?.businessKey ?? ""}`,
    step: claim.step,
    claim_no: claim.claimNo.toString(),
    ...(traceId === undefined ? {} : { trace_id: traceId }),
  };
}
