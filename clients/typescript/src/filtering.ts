import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";

import { type Definition, typeOf } from "./definition.js";
import { type WorkflowFilter, WorkflowFilterSchema } from "./gen/perdure/v1/filter_pb.js";
import { Phase as PhaseNumbers, Workflow_State } from "./gen/perdure/v1/workflow_pb.js";
import { type Phase, refMessage, type WorkflowRef, type WorkflowState } from "./view.js";

/** All that is given must hold; of several values in one field, one must match. `{}` means all workflows of the namespace. */
export interface Filter {
  /** Types, by definition or by name; at most 16. */
  readonly workflow?: Definition | string | readonly (Definition | string)[] | undefined;
  /** Only those in one of these states. */
  readonly states?: readonly Exclude<WorkflowState, "UNKNOWN">[] | undefined;
  /** What open workflows are doing; ended ones have none. */
  readonly phases?: readonly Exclude<Phase, "">[] | undefined;
  /** Queues of steps that are ready or running; at most 16. */
  readonly queues?: readonly string[] | undefined;
  /** Labels that must be there with this value; at most 8. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Exact business keys; at most 100. */
  readonly keys?: readonly string[] | undefined;
  /** First moment of the start. */
  readonly startedAfter?: Date | undefined;
  /** First moment after the last start. */
  readonly startedBefore?: Date | undefined;
  /** First moment of the end; only ended workflows match. */
  readonly endedAfter?: Date | undefined;
  /** First moment after the last end. */
  readonly endedBefore?: Date | undefined;
  /** Only children of this workflow. */
  readonly parent?: WorkflowRef | undefined;
  /** Only children of this step of `parent`. */
  readonly parentStep?: string | undefined;
  /** Definitions that they run by; at most 16. */
  readonly fingerprints?: readonly string[] | undefined;
  /** Only those that this schedule started. */
  readonly scheduleId?: string | undefined;
  /** Only paused, or only unpaused ones. Absent: both. */
  readonly paused?: boolean | undefined;
  /** Failure types that ended, or are ending, the workflow; at most 16. */
  readonly failureTypes?: readonly string[] | undefined;
  /** Also archived rounds. */
  readonly includeArchived?: boolean | undefined;
}

/**
 * The wire's filter.
 * @internal
 */
export function filterMessage(filter: Filter, namespace: string): WorkflowFilter {
  const { workflow, parent, paused } = filter;
  const types = workflow === undefined ? [] : isList(workflow) ? workflow : [workflow];
  const started = rangeOf(filter.startedAfter, filter.startedBefore);
  const ended = rangeOf(filter.endedAfter, filter.endedBefore);
  return create(WorkflowFilterSchema, {
    workflowTypes: types.map(typeOf),
    states: (filter.states ?? []).map((state) => Workflow_State[state]),
    phases: (filter.phases ?? []).map((phase) => PhaseNumbers[phase]),
    queues: [...(filter.queues ?? [])],
    labels: { ...filter.labels },
    businessKeys: [...(filter.keys ?? [])],
    parentStep: filter.parentStep ?? "",
    definitionFingerprints: [...(filter.fingerprints ?? [])],
    scheduleId: filter.scheduleId ?? "",
    failureTypes: [...(filter.failureTypes ?? [])],
    includeArchived: filter.includeArchived ?? false,
    ...(started === undefined ? {} : { startTime: started }),
    ...(ended === undefined ? {} : { endTime: ended }),
    ...(parent === undefined ? {} : { parent: refMessage(parent, namespace) }),
    ...(paused === undefined ? {} : { paused }),
  });
}

function rangeOf(from: Date | undefined, to: Date | undefined) {
  if (from === undefined && to === undefined) return undefined;
  return {
    ...(from === undefined ? {} : { fromTime: timestampFromDate(from) }),
    ...(to === undefined ? {} : { toTime: timestampFromDate(to) }),
  };
}

function isList(workflow: NonNullable<Filter["workflow"]>): workflow is readonly (Definition | string)[] {
  return Array.isArray(workflow);
}
