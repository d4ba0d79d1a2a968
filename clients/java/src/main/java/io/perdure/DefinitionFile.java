package io.perdure;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.perdure.v1.ActivityStep;
import io.perdure.v1.Branch;
import io.perdure.v1.ChildStep;
import io.perdure.v1.Definition;
import io.perdure.v1.Hook;
import io.perdure.v1.MapStep;
import io.perdure.v1.PagedSource;
import io.perdure.v1.PermitRequirement;
import io.perdure.v1.RetryPolicy;
import io.perdure.v1.SignalCondition;
import io.perdure.v1.StepDefinition;
import io.perdure.v1.StepPolicy;
import io.perdure.v1.Wait;
import io.perdure.v1.WaitCondition;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * Definitions as YAML files, the same for all languages; docs and JSON Schema are in the repository. Every fault is named at once.
 * What only the whole definition shows (unknown steps, cycles) is the server's to say.
 */
final class DefinitionFile {
    private static final Set<String> TOP =
            Set.of("workflow_type", "version", "description", "output", "policy", "steps", "hooks");
    private static final Set<String> HOOKS = Set.of("on_success", "failure_finalizer", "cancel_finalizer", "prepare_replay");
    private static final Set<String> POLICY = Set.of("workflow_timeout", "cancel_grace", "max_lost_claims", "retention");
    private static final Set<String> STEP = Set.of(
            "needs", "after", "wait", "retry", "queue", "priority", "on_exhausted", "permits", "version", "description",
            "attempt_timeout", "silence_timeout", "step_timeout", "queue_timeout", "branches", "compensate_with",
            "map", "pages", "child", "max_in_flight", "parent_close");
    private static final Set<String> OF_A_WAIT = Set.of("wait", "after", "version", "description", "branches", "compensate_with");
    private static final Set<String> RETRY = Set.of(
            "max_attempts", "unlimited", "initial_interval", "backoff_coefficient", "max_interval", "jitter", "non_retryable");
    private static final Set<String> CONDITION = Set.of("signal", "count", "after", "at", "name", "choose");

    private final FieldReader reader = new FieldReader();

    private DefinitionFile() {}

    static Definition parse(String yaml) {
        JsonNode document;
        try {
            document = YAMLMapper.builder()
                    .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                    .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
                    .build()
                    .readTree(yaml);
        } catch (JsonProcessingException error) {
            throw rejected("not YAML: " + error.getOriginalMessage(), List.of());
        }
        DefinitionFile file = new DefinitionFile();
        Definition definition = file.definition(document);
        List<Violation> faults = file.reader.faults();
        if (!faults.isEmpty()) {
            throw rejected("the definition has " + faults.size() + (faults.size() > 1 ? " faults" : " fault"), faults);
        }
        return definition;
    }

    private static DefinitionRejectedException rejected(String text, List<Violation> faults) {
        return new DefinitionRejectedException(new ErrorFacts(text, ErrorReason.DEFINITION_INVALID, "", Map.of(), faults, null));
    }

    private Definition definition(JsonNode document) {
        Map<String, JsonNode> top = reader.mapping("", document, TOP);
        Definition.Builder definition = Definition.newBuilder()
                .setWorkflowType(reader.text("workflow_type", top.get("workflow_type")))
                .setVersion(reader.text("version", top.get("version")))
                .setDescription(reader.text("description", top.get("description")))
                .setOutputStep(reader.text("output", top.get("output")));
        if (definition.getWorkflowType().isEmpty()) {
            reader.fault("workflow_type", "is missing");
        }
        Map<String, JsonNode> policy = reader.mapping("policy", top.get("policy"), POLICY);
        duration("policy", policy, "workflow_timeout", found -> definition.getPolicyBuilder().setWorkflowTimeout(Times.message(found)));
        duration("policy", policy, "cancel_grace", found -> definition.getPolicyBuilder().setCancelGrace(Times.message(found)));
        duration("policy", policy, "retention", found -> definition.getPolicyBuilder().setRetention(Times.message(found)));
        reader.integer("policy.max_lost_claims", policy.get("max_lost_claims"))
                .ifPresent(most -> definition.getPolicyBuilder().setMaxLostClaims(most));
        reader.mapping("steps", top.get("steps"), Set.of())
                .forEach((name, value) -> definition.addSteps(step(name, reader.mapping("steps." + name, value, STEP))));
        if (definition.getStepsCount() == 0) {
            reader.fault("steps", "is empty: a definition has at least one step");
        }
        definition.getStepsList().stream().map(StepDefinition::getName).filter(name -> !io.perdure.Definition.isStepName(name)).forEach(name ->
                reader.fault("steps." + name, "a step's name must match " + io.perdure.Definition.STEP_NAME + " and not be `input`"));
        hooks(top.get("hooks"), definition);
        return definition.build();
    }

    private void hooks(JsonNode value, Definition.Builder definition) {
        reader.mapping("hooks", value, HOOKS).forEach((kind, found) -> {
            Hook.Builder hook = Hook.newBuilder();
            if (found.isTextual()) {
                hook.setStep(found.textValue());
            } else {
                Map<String, JsonNode> fields = reader.mapping("hooks." + kind, found, Set.of("step", "required"));
                hook.setStep(reader.text("hooks." + kind + ".step", fields.get("step")));
                hook.setRequired(!fields.containsKey("required") || reader.flag("hooks." + kind + ".required", fields.get("required")));
            }
            switch (kind) {
                case "on_success" -> definition.getHooksBuilder().setOnSuccess(hook);
                case "failure_finalizer" -> definition.getHooksBuilder().setFailureFinalizer(hook);
                case "cancel_finalizer" -> definition.getHooksBuilder().setCancelFinalizer(hook);
                default -> definition.getHooksBuilder().setPrepareReplay(hook);
            }
        });
    }

    private StepDefinition step(String name, Map<String, JsonNode> fields) {
        String path = "steps." + name;
        StepDefinition.Builder step = StepDefinition.newBuilder()
                .setName(name)
                .setVersion(reader.text(path + ".version", fields.get("version")))
                .setDescription(reader.text(path + ".description", fields.get("description")))
                .setCompensateWith(reader.text(path + ".compensate_with", fields.get("compensate_with")));
        reader.mapping(path + ".branches", fields.get("branches"), Set.of()).forEach((branch, names) -> step.addBranches(
                Branch.newBuilder().setName(branch).addAllSteps(reader.names(path + ".branches." + branch, names))));
        List<String> needs = reader.names(path + ".needs", fields.get("needs"));
        if (fields.containsKey("needs") || fields.containsKey("wait")) {
            step.getNeedsBuilder().addAllNames(needs);
        }
        Set<String> dependencies = new LinkedHashSet<>(needs);
        dependencies.remove("input");
        dependencies.addAll(reader.names(path + ".after", fields.get("after")));
        step.addAllDependsOn(dependencies);
        if (!fields.containsKey("wait")) {
            step.setActivity(ActivityStep.getDefaultInstance());
            children(path, fields, step);
            policy(path, fields, step);
            return step.build();
        }
        new TreeSet<>(fields.keySet()).stream().filter(key -> !OF_A_WAIT.contains(key))
                .forEach(key -> reader.fault(path + "." + key, "does not belong to a step that waits"));
        step.getWaitBuilder().setWait(waiting(path + ".wait", fields.get("wait")));
        return step.build();
    }

    private Wait waiting(String path, JsonNode value) {
        Set<String> known = new TreeSet<>(CONDITION);
        known.add("any_of");
        Map<String, JsonNode> fields = reader.mapping(path, value, known);
        List<JsonNode> conditions = fields.containsKey("any_of") ? reader.items(fields.get("any_of")) : List.of(value);
        if (fields.containsKey("any_of")) {
            new TreeSet<>(fields.keySet()).stream().filter(key -> !key.equals("any_of")).forEach(
                    key -> reader.fault(path + "." + key, "does not belong beside `any_of`: put it into one of the conditions"));
        }
        Wait.Builder wait = Wait.newBuilder();
        for (int index = 0; index < conditions.size(); index++) {
            wait.addAnyOf(condition(path + ".any_of[" + index + "]", conditions.get(index)));
        }
        return wait.build();
    }

    private WaitCondition condition(String path, JsonNode value) {
        Map<String, JsonNode> fields = reader.mapping(path, value, CONDITION);
        WaitCondition.Builder condition = WaitCondition.newBuilder()
                .setName(reader.text(path + ".name", fields.get("name")))
                .addAllChoose(reader.names(path + ".choose", fields.get("choose")));
        if (List.of("signal", "after", "at").stream().filter(fields::containsKey).count() != 1) {
            reader.fault(path, "is one of: `signal`, `after` (a duration), `at` (a time)");
        } else if (fields.containsKey("count") && !fields.containsKey("signal")) {
            reader.fault(path + ".count", "counts signals, and this condition waits for none");
        } else if (fields.containsKey("signal")) {
            condition.setSignal(SignalCondition.newBuilder()
                    .setSignalName(reader.text(path + ".signal", fields.get("signal")))
                    .setCount(reader.integer(path + ".count", fields.get("count")).orElse(1)));
        } else if (fields.containsKey("after")) {
            duration(path, fields, "after", found -> condition.setAfter(Times.message(found)));
        } else {
            reader.time(path + ".at", fields.get("at")).ifPresent(time -> condition.setAtTime(Times.message(time)));
        }
        return condition.build();
    }

    private void policy(String path, Map<String, JsonNode> fields, StepDefinition.Builder step) {
        StepPolicy.Builder policy = step.getPolicyBuilder();
        policy.setQueue(reader.text(path + ".queue", fields.get("queue")));
        reader.integer(path + ".priority", fields.get("priority")).ifPresent(policy::setPriority);
        duration(path, fields, "attempt_timeout", found -> policy.setAttemptTimeout(Times.message(found)));
        duration(path, fields, "silence_timeout", found -> policy.setSilenceTimeout(Times.message(found)));
        duration(path, fields, "step_timeout", found -> policy.setStepTimeout(Times.message(found)));
        duration(path, fields, "queue_timeout", found -> policy.setQueueTimeout(Times.message(found)));
        if (fields.containsKey("retry")) {
            policy.setRetry(retry(path + ".retry", reader.mapping(path + ".retry", fields.get("retry"), RETRY)));
        }
        String exhausted = reader.text(path + ".on_exhausted", fields.get("on_exhausted"));
        if (Set.of("fail_workflow", "hold", "skip_dependants", "continue").contains(exhausted)) {
            policy.setOnExhausted(StepPolicy.OnExhausted.valueOf("ON_EXHAUSTED_" + exhausted.toUpperCase(Locale.ROOT)));
        } else if (!exhausted.isEmpty()) {
            reader.fault(path + ".on_exhausted", "is one of fail_workflow, hold, skip_dependants, continue");
        }
        reader.mapping(path + ".permits", fields.get("permits"), Set.of()).forEach((resource, units) -> policy.addPermits(
                PermitRequirement.newBuilder()
                        .setResource(resource)
                        .setUnits(reader.integer(path + ".permits." + resource, units).orElse(1))));
    }

    private RetryPolicy retry(String path, Map<String, JsonNode> fields) {
        RetryPolicy.Builder retry = RetryPolicy.newBuilder();
        boolean unlimited = fields.containsKey("unlimited") && reader.flag(path + ".unlimited", fields.get("unlimited"));
        reader.integer(path + ".max_attempts", fields.get("max_attempts")).ifPresent(retry::setMaxAttempts);
        if (unlimited && retry.hasMaxAttempts()) {
            reader.fault(path, "give max_attempts or unlimited, not both");
        } else if (unlimited) {
            retry.setUnlimited(true);
        }
        duration(path, fields, "initial_interval", found -> retry.setInitialInterval(Times.message(found)));
        duration(path, fields, "max_interval", found -> retry.setMaxInterval(Times.message(found)));
        reader.number(path + ".backoff_coefficient", fields.get("backoff_coefficient")).ifPresent(retry::setBackoffCoefficient);
        reader.number(path + ".jitter", fields.get("jitter")).ifPresent(retry::setJitter);
        return retry.addAllNonRetryableTypes(reader.names(path + ".non_retryable", fields.get("non_retryable"))).build();
    }

    private void children(String path, Map<String, JsonNode> fields, StepDefinition.Builder step) {
        List<String> kinds = List.of("map", "pages", "child").stream().filter(fields::containsKey).toList();
        if (kinds.size() > 1) {
            reader.fault(path, "is one of: " + String.join(", ", kinds));
            return;
        }
        if (kinds.isEmpty()) {
            List.of("max_in_flight", "parent_close").stream().filter(fields::containsKey)
                    .forEach(key -> reader.fault(path + "." + key, "belongs to a step with `map`, `pages` or `child`"));
            return;
        }
        String place = path + "." + kinds.get(0);
        switch (kinds.get(0)) {
            case "map" -> {
                Map<String, JsonNode> map = reader.mapping(place, fields.get("map"), Set.of("workflow", "items", "join"));
                String items = reader.text(place + ".items", map.get("items"));
                step.setMap(children(place, map).setItemsFrom(items.isEmpty() ? "input" : items));
            }
            case "pages" -> {
                Map<String, JsonNode> pages = reader.mapping(place, fields.get("pages"), Set.of("workflow", "join"));
                step.setMap(children(place, pages).setPaged(PagedSource.getDefaultInstance()));
            }
            default -> {
                Map<String, JsonNode> child = reader.mapping(place, fields.get("child"), Set.of("workflow", "input"));
                step.setChild(ChildStep.newBuilder()
                        .setChildWorkflowType(reader.text(place + ".workflow", child.get("workflow")))
                        .setInputFrom(reader.text(place + ".input", child.get("input"))));
            }
        }
        reader.integer(path + ".max_in_flight", fields.get("max_in_flight")).ifPresent(most -> step.getPolicyBuilder().setMaxInFlight(most));
        String close = reader.text(path + ".parent_close", fields.get("parent_close"));
        if (Set.of("cancel", "terminate", "abandon").contains(close)) {
            step.getPolicyBuilder()
                    .setParentClose(StepPolicy.ParentClosePolicy.valueOf("PARENT_CLOSE_POLICY_" + close.toUpperCase(Locale.ROOT)));
        } else if (!close.isEmpty()) {
            reader.fault(path + ".parent_close", "is one of cancel, terminate, abandon");
        }
    }

    private MapStep.Builder children(String place, Map<String, JsonNode> fields) {
        MapStep.Builder map = MapStep.newBuilder().setChildWorkflowType(reader.text(place + ".workflow", fields.get("workflow")));
        JsonNode join = fields.get("join");
        String named = join == null ? "all" : join.asText();
        if (join != null && join.isIntegralNumber()) {
            map.setJoin(MapStep.Join.JOIN_N_OF_M).setRequiredCount(join.intValue());
        } else if (Set.of("all", "any", "best_effort").contains(named)) {
            map.setJoin(MapStep.Join.valueOf("JOIN_" + named.toUpperCase(Locale.ROOT)));
        } else {
            reader.fault(place + ".join", "is one of all, any, best_effort, or how many must complete");
        }
        return map;
    }

    private void duration(String path, Map<String, JsonNode> fields, String name, Consumer<Duration> set) {
        reader.duration(path + "." + name, fields.get(name)).ifPresent(set);
    }
}
