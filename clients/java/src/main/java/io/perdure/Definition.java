package io.perdure;

import io.perdure.v1.ActivityStep;
import io.perdure.v1.ChildStep;
import io.perdure.v1.Hook;
import io.perdure.v1.MapStep;
import io.perdure.v1.Needs;
import io.perdure.v1.PagedSource;
import io.perdure.v1.StepDefinition;
import io.perdure.v1.WaitStep;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * A type of workflow: its steps, what each needs, and their policies. Give it to a worker, to {@link Client#start} and to
 * {@link Definitions#apply}. Only the server computes its fingerprint.
 *
 * <pre>{@code
 * record Greet(String input) {}
 *
 * Definition greeting = Definition.of("greeting").version("1");
 * greeting.step("greet", Greet.class, (ctx, in) -> "hello " + in.input());
 * }</pre>
 */
public final class Definition {
    static final String INPUT = "input";
    static final Pattern STEP_NAME = Pattern.compile("[a-z][a-z0-9_]{0,62}");

    private final io.perdure.v1.Definition.Builder message;
    private final Map<String, Step> steps = new LinkedHashMap<>();
    private final Map<String, StepCode> code = new LinkedHashMap<>();

    /** When a hook runs. */
    public enum HookKind {
        /** After the last step, before COMPLETED is stored. */
        ON_SUCCESS,
        /** Before FAILED is stored. */
        FAILURE_FINALIZER,
        /** Before CANCELLED is stored. */
        CANCEL_FINALIZER,
        /** First of all when an ended workflow is replayed. */
        PREPARE_REPLAY
    }

    private Definition(io.perdure.v1.Definition message) {
        this.message = message.toBuilder().clearSteps();
        message.getStepsList().forEach(step -> steps.put(step.getName(), new Step(this, step.toBuilder())));
    }

    /**
     * An empty definition.
     *
     * @param workflowType name of the type: letters, digits, {@code _}, {@code -}, {@code .}; at most 128 bytes
     * @return the definition
     */
    public static Definition of(String workflowType) {
        return of(io.perdure.v1.Definition.newBuilder().setWorkflowType(workflowType).build());
    }

    /**
     * A definition as the wire has it.
     *
     * @param message the definition
     * @return the definition, without code; see {@link #code}
     */
    public static Definition of(io.perdure.v1.Definition message) {
        return new Definition(message);
    }

    /**
     * A definition in YAML, the same file for all languages.
     *
     * @param yaml the text
     * @return the definition, without code; see {@link #code}
     * @throws DefinitionRejectedException names every fault, with its place
     */
    public static Definition parse(String yaml) {
        return of(DefinitionFile.parse(yaml));
    }

    /**
     * A definition file.
     *
     * @param path the file
     * @return the definition, without code; see {@link #code}
     * @throws IOException it cannot be read
     * @throws DefinitionRejectedException names every fault, with its place
     */
    public static Definition load(Path path) throws IOException {
        return parse(Files.readString(path));
    }

    /** {@return name of the type} */
    public String workflowType() {
        return message.getWorkflowType();
    }

    /** {@return all steps by name, in the order in which they were declared} */
    public Map<String, Step> steps() {
        return Collections.unmodifiableMap(steps);
    }

    /**
     * The author's version: raise it when the meaning of an output, checkpoint or input changes.
     *
     * @param version the version
     * @return this definition
     */
    public Definition version(String version) {
        message.setVersion(version);
        return this;
    }

    /**
     * For people.
     *
     * @param text what it is about
     * @return this definition
     */
    public Definition description(String text) {
        message.setDescription(text);
        return this;
    }

    /**
     * The step whose output is the workflow's. Default: the last one.
     *
     * @param step the step
     * @return this definition
     */
    public Definition output(Step step) {
        message.setOutputStep(step.name());
        return this;
    }

    /**
     * Until when a workflow must have ended. Default: no limit.
     *
     * @param timeout from the start of the round
     * @return this definition
     */
    public Definition workflowTimeout(Duration timeout) {
        message.getPolicyBuilder().setWorkflowTimeout(Times.message(timeout));
        return this;
    }

    /**
     * How long running steps may go on after a cancel or a failure before they are fenced. Default: 30 s.
     *
     * @param grace how long
     * @return this definition
     */
    public Definition cancelGrace(Duration grace) {
        message.getPolicyBuilder().setCancelGrace(Times.message(grace));
        return this;
    }

    /**
     * How many claims of one step may be lost with their worker before it fails with WORKER_LOST. Default: 5.
     *
     * @param most at least 1
     * @return this definition
     */
    public Definition maxLostClaims(int most) {
        message.getPolicyBuilder().setMaxLostClaims(most);
        return this;
    }

    /**
     * How long an ended workflow is kept. Default: the namespace's, 30 days.
     *
     * @param retention how long
     * @return this definition
     */
    public Definition retention(Duration retention) {
        message.getPolicyBuilder().setRetention(Times.message(retention));
        return this;
    }

    /**
     * A step that this program runs.
     *
     * @param <N> what it needs
     * @param name its name, {@code [a-z][a-z0-9_]{0,62}}
     * @param needs a record whose components are named {@code input} or after steps declared above it
     * @param activity its code
     * @return the step
     * @throws IllegalArgumentException a name is not possible
     */
    public <N> Step step(String name, Class<N> needs, Activity<N> activity) {
        StepCode made = StepCode.of(name, needs, activity);
        Step step = add(name, made.needs(), named(name).setActivity(ActivityStep.getDefaultInstance()));
        code.put(name, made);
        return step;
    }

    /**
     * A step that this program runs and that needs no inputs.
     *
     * @param name its name
     * @param activity its code
     * @return the step
     * @throws IllegalArgumentException the name is not possible
     */
    public Step step(String name, PlainActivity activity) {
        Step step = add(name, List.of(), named(name).setActivity(ActivityStep.getDefaultInstance()));
        code.put(name, StepCode.plain(name, activity));
        return step;
    }

    /**
     * A step that another program's worker runs, in any language.
     *
     * @param name its name
     * @param needs steps declared above it, and {@code input}
     * @return the step
     */
    public Step remote(String name, String... needs) {
        return add(name, List.of(needs), named(name).setActivity(ActivityStep.getDefaultInstance()));
    }

    /**
     * A durable wait that needs no worker. A later step gets a {@link Woken} by a component of this name.
     *
     * @param name its name
     * @param anyOf what it waits for, from the moment it becomes ready; the first to come true wins
     * @return the step
     */
    public Step waitFor(String name, Condition... anyOf) {
        WaitStep wait = WaitStep.newBuilder().setWait(Wait.any(anyOf).message()).build();
        return add(name, List.of(), named(name).setWait(wait));
    }

    /**
     * A step that runs a workflow per item of a JSON list, and joins these children. A later step gets a {@link MapResult}.
     *
     * @param name its name
     * @param workflowType what is run; it gets the item as its input
     * @param items what is the list: a step declared above, or {@code input}
     * @return the step
     */
    public Step map(String name, String workflowType, String items) {
        MapStep map = MapStep.newBuilder().setChildWorkflowType(workflowType).setItemsFrom(items).build();
        return add(name, List.of(items), named(name).setMap(map)).join(Step.Join.ALL);
    }

    /**
     * A map step over a source of any length: its activity returns a {@link Page}, and is asked again with its cursor.
     *
     * @param <N> what it needs
     * @param name its name
     * @param workflowType what is run; it gets one of the page's children as its input
     * @param needs a record, as in {@link #step(String, Class, Activity)}
     * @param activity its code
     * @return the step
     */
    public <N> Step pages(String name, String workflowType, Class<N> needs, Activity<N> activity) {
        StepCode made = StepCode.of(name, needs, activity);
        MapStep map = MapStep.newBuilder().setChildWorkflowType(workflowType).setPaged(PagedSource.getDefaultInstance()).build();
        Step step = add(name, made.needs(), named(name).setMap(map)).join(Step.Join.ALL);
        code.put(name, made);
        return step;
    }

    /**
     * A step that runs one other workflow and takes its output.
     *
     * @param name its name
     * @param workflowType what is run
     * @param input what it gets: a step declared above, or {@code input}
     * @return the step
     */
    public Step child(String name, String workflowType, String input) {
        ChildStep child = ChildStep.newBuilder().setChildWorkflowType(workflowType).setInputFrom(input).build();
        return add(name, List.of(input), named(name).setChild(child));
    }

    /**
     * Makes a step a hook, which is tried until it succeeds, however long.
     *
     * @param kind when it runs
     * @param step a step that needs nothing but, perhaps, {@code input}; {@link Context#hook()} tells why it runs
     * @return this definition
     */
    public Definition hook(HookKind kind, Step step) {
        return hook(kind, step, true);
    }

    /**
     * Makes a step a hook.
     *
     * @param kind when it runs
     * @param step a step that needs nothing but, perhaps, {@code input}
     * @param required false: it is tried by its policy, then it is passed
     * @return this definition
     */
    public Definition hook(HookKind kind, Step step, boolean required) {
        Hook.Builder hook = Hook.newBuilder().setStep(step.name());
        if (!required) {
            hook.setRequired(false);
        }
        switch (kind) {
            case ON_SUCCESS -> message.getHooksBuilder().setOnSuccess(hook);
            case FAILURE_FINALIZER -> message.getHooksBuilder().setFailureFinalizer(hook);
            case CANCEL_FINALIZER -> message.getHooksBuilder().setCancelFinalizer(hook);
            case PREPARE_REPLAY -> message.getHooksBuilder().setPrepareReplay(hook);
            default -> throw new IllegalArgumentException("no such hook: " + kind);
        }
        return this;
    }

    /**
     * Gives a step of a loaded definition its code; steps without code are run by other programs.
     *
     * @param <N> what it needs
     * @param step name of the step
     * @param needs a record whose components are among what the step needs
     * @param activity its code
     * @return this definition
     * @throws IllegalArgumentException there is no such step, or it does not get such an input
     */
    public <N> Definition code(String step, Class<N> needs, Activity<N> activity) {
        require(step, "code of a step");
        StepCode made = StepCode.of(step, needs, activity);
        StepDefinition declared = steps.get(step).message();
        for (String need : made.needs()) {
            if (declared.hasNeeds() && !declared.getNeeds().getNamesList().contains(need)) {
                throw new IllegalArgumentException("step " + step + " of " + workflowType() + " does not get `" + need
                        + "`; it needs " + declared.getNeeds().getNamesList());
            }
        }
        code.put(step, made);
        return this;
    }

    /**
     * Gives a step of a loaded definition its code, which takes no inputs.
     *
     * @param step name of the step
     * @param activity its code
     * @return this definition
     * @throws IllegalArgumentException there is no such step
     */
    public Definition code(String step, PlainActivity activity) {
        require(step, "code of a step");
        code.put(step, StepCode.plain(step, activity));
        return this;
    }

    /** {@return the wire's form} */
    public io.perdure.v1.Definition message() {
        io.perdure.v1.Definition.Builder whole = message.clone();
        steps.values().forEach(step -> whole.addSteps(step.message()));
        return whole.build();
    }

    /** {@return name and steps} */
    @Override
    public String toString() {
        return "Definition[" + workflowType() + " " + message.getVersion() + ": " + String.join(", ", steps.keySet()) + "]";
    }

    Map<String, StepCode> code() {
        return code;
    }

    void require(String step, String where) {
        if (!steps.containsKey(step)) {
            throw new IllegalArgumentException(where + ": " + workflowType() + " has no step " + step + " above it; there are "
                    + (steps.isEmpty() ? "none yet" : String.join(", ", steps.keySet())));
        }
    }

    /** Throws DefinitionRejectedException if the server would have to look into values that the codec makes unreadable. */
    void checkFor(Codec codec) {
        List<Violation> faults = new ArrayList<>();
        int index = 0;
        for (StepDefinition step : message().getStepsList()) {
            String field = "definition.steps[" + index++ + "]";
            if (!step.getMap().getItemsFrom().isEmpty()) {
                faults.add(new Violation(field + ".map.items_from", step.getName() + " takes its items out of "
                        + step.getMap().getItemsFrom() + ", which is encrypted: use a paging step"));
            }
            if (step.hasChild() && step.getChild().getInputFrom().isEmpty() && step.getNeeds().getNamesCount() > 0) {
                faults.add(new Violation(field + ".child.input_from", step.getName()
                        + " makes one input of several values, which are encrypted: name one"));
            }
        }
        if (codec != null && !faults.isEmpty()) {
            throw new DefinitionRejectedException(new ErrorFacts(
                    "the server cannot look into values of this codec",
                    ErrorReason.DEFINITION_INVALID, "", Map.of(), faults, null));
        }
    }

    static boolean isStepName(String name) {
        return STEP_NAME.matcher(name).matches() && !name.equals(INPUT);
    }

    private static StepDefinition.Builder named(String name) {
        return StepDefinition.newBuilder().setName(name);
    }

    private Step add(String name, List<String> needs, StepDefinition.Builder step) {
        if (!isStepName(name)) {
            throw new IllegalArgumentException("a step's name must match " + STEP_NAME + " and not be `input`, so that every"
                    + " language can name it: '" + name + "'");
        }
        if (steps.containsKey(name)) {
            throw new IllegalArgumentException(workflowType() + " has a step " + name + " already");
        }
        needs.stream().filter(need -> !need.equals(INPUT)).forEach(need -> require(need, "needs of " + name));
        Step made = new Step(this, step.setNeeds(Needs.newBuilder().addAllNames(needs)));
        steps.put(name, made);
        return made;
    }
}
