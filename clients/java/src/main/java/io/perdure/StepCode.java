package io.perdure;

import com.fasterxml.jackson.databind.JavaType;
import io.perdure.v1.Claim;
import io.perdure.v1.Payload;
import io.perdure.v1.WaitResult;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** The code of one step, and what its record says of the inputs. */
final class StepCode {
    private final String step;
    private final List<Input> inputs;
    private final Constructor<?> constructor;
    private final Activity<Object> activity;

    /** One component of the record. */
    private record Input(String name, JavaType type) {}

    private StepCode(String step, List<Input> inputs, Constructor<?> constructor, Activity<Object> activity) {
        this.step = step;
        this.inputs = inputs;
        this.constructor = constructor;
        this.activity = activity;
    }

    static <N> StepCode of(String step, Class<N> needs, Activity<N> activity) {
        if (needs == Inputs.class) {
            return new StepCode(step, List.of(), null, (ctx, claim) -> activity.run(ctx, needs.cast(new Inputs((Claim) claim))));
        }
        if (!needs.isRecord()) {
            throw new IllegalArgumentException("step " + step + ": " + needs.getName()
                    + " is no record; what a step needs is a record with components named `input` or after earlier steps");
        }
        RecordComponent[] components = needs.getRecordComponents();
        List<Input> inputs = Arrays.stream(components)
                .map(component -> new Input(component.getName(), Values.javaType(component.getGenericType())))
                .toList();
        try {
            Class<?>[] types = Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
            Constructor<N> constructor = needs.getDeclaredConstructor(types);
            constructor.setAccessible(true);
            return new StepCode(step, inputs, constructor, (ctx, made) -> activity.run(ctx, needs.cast(made)));
        } catch (ReflectiveOperationException | RuntimeException error) {
            throw new IllegalArgumentException("step " + step + ": the record " + needs.getName()
                    + " cannot be made: open its package to io.perdure.client", error);
        }
    }

    static StepCode plain(String step, PlainActivity activity) {
        return new StepCode(step, List.of(), null, (ctx, none) -> activity.run(ctx));
    }

    /** Names of the inputs. */
    List<String> needs() {
        return inputs.stream().map(Input::name).toList();
    }

    /** Runs the activity on the calling thread. Throws PayloadRejectedException if a value is not of its type. */
    Object invoke(Context ctx, Claim claim) throws Exception {
        if (constructor == null) {
            return activity.run(ctx, claim); // it takes nothing of it, or all
        }
        Object[] values = inputs.stream().map(input -> decode(claim, input)).toArray();
        Object made;
        try {
            made = constructor.newInstance(values);
        } catch (InvocationTargetException error) {
            // The record's own checks; the same value fails the same way in every attempt.
            throw Values.rejected("step " + step + ": the inputs do not suit: " + error.getCause());
        }
        return activity.run(ctx, made);
    }

    private static Object decode(Claim claim, Input input) {
        String what = "input " + input.name();
        try {
            return value(claim, input);
        } catch (PayloadUndecodableException error) {
            throw new PayloadUndecodableException(what + ": " + error.description(), error.codecCause());
        } catch (PayloadRejectedException error) {
            throw new PayloadRejectedException(error.told().withMessage(what + ": " + error.description()));
        }
    }

    private static Object value(Claim claim, Input input) {
        JavaType type = input.type();
        io.perdure.v1.Failure failed = claim.getFailedInputsMap().get(input.name());
        Payload payload = claim.getInputsMap().get(input.name());
        if (type.hasRawClass(ValueOrFailure.class)) {
            JavaType inner = type.containedTypeOrUnknown(0);
            Object value = failed != null || Values.isAbsent(payload) ? null : plain(payload, inner);
            return new ValueOrFailure<>(Optional.ofNullable(value), Optional.ofNullable(failed).map(Failures::of));
        }
        if (failed != null) {
            throw Values.rejected("it failed (" + Failures.of(failed) + "); make it a ValueOrFailure to take that");
        }
        return plain(payload, type);
    }

    private static Object plain(Payload payload, JavaType type) {
        if (type.hasRawClass(Woken.class) && !Values.isAbsent(payload)) {
            WaitResult result = WaitResults.parse(payload);
            return Woken.of(result.getCondition(), result.getWakesList(), type.containedTypeOrUnknown(0));
        }
        return Values.decode(payload, type);
    }
}
