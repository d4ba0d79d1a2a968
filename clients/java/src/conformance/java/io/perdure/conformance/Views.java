package io.perdure.conformance;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.perdure.Event;
import io.perdure.Failure;
import io.perdure.Run;
import io.perdure.StepView;
import io.perdure.Workflow;
import io.perdure.v1.Attempt;
import io.perdure.v1.Blocker;
import io.perdure.v1.DefinitionWarning;
import io.perdure.v1.ExplainWorkflowResponse;
import io.perdure.v1.Payload;
import io.perdure.v1.RegisterDefinitionResponse;
import io.perdure.v1.RegisteredDefinition;
import io.perdure.v1.StateChange;
import io.perdure.v1.StepExplanation;
import java.util.Locale;
import java.util.Optional;

/** What the library returns, as lines of the protocol. */
final class Views {
    private Views() {}

    /** A workflow; without a run to fetch refs by, neither steps nor values. */
    static ObjectNode workflow(Workflow found, Optional<Run> run) {
        ObjectNode line = Lines.line()
                .put("namespace", found.namespace())
                .put("type", found.workflowType())
                .put("key", found.businessKey())
                .put("round", found.round())
                .put("run_id", found.runId())
                .put("fence", found.fence())
                .put("state", found.state().name())
                .put("phase", found.phase())
                .put("definition_fingerprint", found.definitionFingerprint())
                .put("failed_step", found.failedStep());
        line.set("labels", Lines.MAPPER.valueToTree(found.labels()));
        Lines.failure(line, "failure", found.failure());
        if (run.isEmpty()) {
            return line;
        }
        Lines.put(line, "input", whole(found.message().getInput(), run.get()));
        Lines.put(line, "output", whole(found.message().getOutput(), run.get()));
        ObjectNode steps = line.putObject("steps");
        for (StepView step : found.steps().values()) {
            ObjectNode told = steps.putObject(step.name())
                    .put("state", step.state().name())
                    .put("phase", step.phase())
                    .put("attempt", step.attempt())
                    .put("claim_no", step.claimNo());
            told.set("waits_for", Lines.MAPPER.valueToTree(step.waitsFor()));
            Lines.failure(told, "failure", step.failure());
            Lines.put(told, "output", whole(step.message().getOutput(), run.get()));
        }
        return line;
    }

    static ObjectNode attempt(Attempt attempt) {
        ObjectNode line = Lines.line()
                .put("step", attempt.getStep())
                .put("claim_no", attempt.getClaimNo())
                .put("attempt", attempt.getAttempt())
                .put("outcome", name(attempt.getOutcome(), "OUTCOME_"))
                .put("charged", attempt.getCharged())
                .put("worker_id", attempt.getWorkerId());
        if (attempt.hasFailure()) {
            Failure failure = Failure.of(attempt.getFailure());
            line.set("failure", Lines.failure(failure));
        }
        return line;
    }

    static ObjectNode definition(RegisterDefinitionResponse answer) {
        RegisteredDefinition found = answer.getDefinition();
        ObjectNode line = Lines.line()
                .put("type", found.getDefinition().getWorkflowType())
                .put("version", found.getDefinition().getVersion())
                .put("fingerprint", found.getFingerprint())
                .put("active", found.getActive())
                .put("created", answer.getCreated());
        line.set("step_contracts", Lines.MAPPER.valueToTree(found.getStepContractsMap()));
        line.putArray("warnings");
        for (DefinitionWarning warning : answer.getWarningsList()) {
            line.withArray("warnings").add(warning.getField() + ": " + warning.getDescription());
        }
        return line;
    }

    static ObjectNode explanation(ExplainWorkflowResponse found) {
        ObjectNode line = Lines.line().put("state", name(found.getState(), "STATE_")).put("phase", name(found.getPhase(), "PHASE_"));
        line.putArray("steps");
        for (StepExplanation step : found.getStepsList()) {
            ObjectNode told = line.withArray("steps").addObject()
                    .put("step", step.getStep())
                    .put("state", name(step.getState(), "STATE_"))
                    .put("phase", name(step.getPhase(), "PHASE_"));
            told.putArray("blockers");
            for (Blocker blocker : step.getBlockersList()) {
                told.withArray("blockers").add(blocker.getKindCase().name().toLowerCase(Locale.ROOT));
            }
        }
        return line;
    }

    static ObjectNode event(Event event, Run run) {
        ObjectNode line = Lines.event("watch").put("kind", "unknown").put("resume_token", event.resumeToken());
        if (event instanceof Event.Snapshot snapshot) {
            line.put("kind", "snapshot").set("workflow", workflow(snapshot.workflow(), Optional.of(run)));
        } else if (event instanceof Event.Change change) {
            change(line.put("kind", "change"), change);
        } else if (event instanceof Event.Frame frame) {
            line.put("kind", "frame").put("step", frame.step()).put("claim_no", frame.claimNo()).put("seq", frame.seq())
                    .put("frame_kind", frame.kind());
            Lines.put(line, "value", frame.message().getPayload());
        } else if (event instanceof Event.FramesReset reset) {
            line.put("kind", "frames_reset").put("step", reset.step()).put("claim_no", reset.claimNo());
        } else if (event instanceof Event.Gap gap) {
            line.put("kind", "gap").put("changes", gap.changes()).put("frames", gap.frames()).put("reason", gap.reason());
        } else if (event instanceof Event.End end) {
            line.put("kind", "end").put("state", end.state().name()).put("round", end.round()).put("fence", end.message().getFence());
            Lines.failure(line, "failure", end.failure());
            Lines.put(line, "output", whole(end.message().getOutput(), run));
        }
        return line;
    }

    private static void change(ObjectNode line, Event.Change change) {
        StateChange message = change.message();
        line.put("seq", change.seq())
                .put("round", change.round())
                .put("reason", message.getReason())
                .put("step", change.step())
                .put("attempt", message.getAttempt())
                .put("claim_no", message.getClaimNo())
                .put("worker_id", message.getWorkerId())
                .put("signal_name", message.getSignalName());
        line.set("signals", Lines.MAPPER.valueToTree(change.signals()));
        change.stepState().ifPresent(state -> line.put("step_state", state.name()));
        change.workflowState().ifPresent(state -> line.put("workflow_state", state.name()));
        Lines.failure(line, "failure", change.failure());
    }

    private static Payload whole(Payload payload, Run run) {
        return payload.hasRef() ? run.fetch(payload, Payload.class) : payload;
    }

    private static String name(Enum<?> value, String prefix) {
        String name = value.name().substring(value.name().startsWith(prefix) ? prefix.length() : 0);
        return name.equals("UNSPECIFIED") ? "" : name;
    }
}
