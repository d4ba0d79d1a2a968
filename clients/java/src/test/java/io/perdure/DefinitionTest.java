package io.perdure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.perdure.v1.RegisterDefinitionResponse;
import io.perdure.v1.StepDefinition;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class DefinitionTest {
    private static final String FULL = """
            workflow_type: everything
            version: "1"
            output: publish
            policy: {workflow_timeout: 7d, cancel_grace: 30s, max_lost_claims: 5, retention: 30d}
            steps:
              transcribe:
                needs: [input]
                attempt_timeout: 1h30m
                retry: {max_attempts: 4, initial_interval: 500ms, backoff_coefficient: 2, jitter: 0.2, non_retryable: [asr.quota]}
                queue: gpu
                priority: 7
                on_exhausted: hold
                permits: {asr: 1}
                version: "2"
                compensate_with: discard
              compose:
                needs: [transcribe]
                branches: {long: [publish]}
              choice:
                after: [compose]
                wait: {any_of: [{signal: choose, count: 2}, {after: 3d}, {at: "2030-01-01T00:00:00Z", name: deadline}]}
              publish: {needs: [compose, choice], after: [compose]}
              notify:
                needs: [compose]
                map: {workflow: notice, items: compose, join: best_effort}
                max_in_flight: 10
                parent_close: abandon
              discard: {needs: []}
              tell: {needs: [input]}
            hooks: {failure_finalizer: tell}
            """;

    record Needs(String input) {}

    record Publish(String compose, Woken<String> choice) {}

    @Test
    void aFileAndItsValuesHaveOneFingerprint() {
        Definition file = Definition.parse(FULL);
        Definition values = Definition.of("everything").version("1").workflowTimeout(Duration.ofDays(7))
                .cancelGrace(Duration.ofSeconds(30)).maxLostClaims(5).retention(Duration.ofDays(30));
        Step discard = values.step("discard", ctx -> null);
        Step tell = values.step("tell", Needs.class, (ctx, in) -> null);
        Step transcribe = values.step("transcribe", Needs.class, (ctx, in) -> null)
                .attemptTimeout(Duration.ofMinutes(90))
                .retry(Retry.attempts(4).intervals(Duration.ofMillis(500), Duration.ofMinutes(1)).coefficient(2).jitter(0.2).except("asr.quota"))
                .queue("gpu").priority(7).onExhausted(Step.OnExhausted.HOLD).permits("asr", 1).version("2").compensateWith(discard);
        record Compose(String transcribe) {}
        Step compose = values.step("compose", Compose.class, (ctx, in) -> null).after(transcribe);
        values.waitFor("choice", Condition.signal("choose", 2), Condition.after(Duration.ofDays(3)),
                Condition.at(java.time.Instant.parse("2030-01-01T00:00:00Z")).named("deadline")).after(compose);
        Step publish = values.step("publish", Publish.class, (ctx, in) -> null).on(compose, "long");
        values.map("notify", "notice", "compose").join(Step.Join.BEST_EFFORT).maxInFlight(10).parentClose(Step.ParentClose.ABANDON);
        values.output(publish).hook(Definition.HookKind.FAILURE_FINALIZER, tell);
        try (Client client = Servers.client()) {
            RegisterDefinitionResponse ofFile = client.definitions().validate(file);
            RegisterDefinitionResponse ofValues = client.definitions().validate(values);
            assertEquals(ofFile.getDefinition().getFingerprint(), ofValues.getDefinition().getFingerprint());
            assertEquals(ofFile.getDefinition().getStepContractsMap(), ofValues.getDefinition().getStepContractsMap());
            assertTrue(client.definitions().list("everything").toList().isEmpty()); // validate stores nothing
        }
    }

    @Test
    void everyFaultOfAFileIsNamedAtOnce() {
        String yaml = """
                workflow_type: note
                version: 1.10
                steps:
                  read: {attempt_timeout: soon, retry: {max_attempts: 2, unlimited: true}, colour: red}
                  pause: {wait: {signal: a, after: 1s}, queue: q}
                """;
        DefinitionRejectedException error = assertThrows(DefinitionRejectedException.class, () -> Definition.parse(yaml));
        List<String> places = error.violations().stream().map(Violation::field).sorted().toList();
        assertEquals(
                List.of("steps.pause.queue", "steps.pause.wait.any_of[0]", "steps.read.attempt_timeout", "steps.read.colour", "steps.read.retry", "version"),
                places);
        assertEquals(ErrorReason.DEFINITION_INVALID, error.reason());
        assertThrows(DefinitionRejectedException.class, () -> Definition.parse("steps: {a: {}, a: {}}"));
        assertThrows(DefinitionRejectedException.class, () -> Definition.parse("a: ["));
    }

    @Test
    void theServerNamesACycle() {
        Definition circle = Definition.parse("""
                workflow_type: circle
                steps: {a: {needs: [b]}, b: {needs: [a]}}
                """);
        try (Client client = Servers.client()) {
            DefinitionRejectedException error =
                    assertThrows(DefinitionRejectedException.class, () -> client.definitions().validate(circle));
            assertEquals(ErrorReason.DEFINITION_CYCLE, error.reason());
            assertTrue(error.facts().containsKey("cycle"), error.facts().toString());
        }
    }

    @Test
    void namesThatCannotBeAreRefusedWhereTheyAreWritten() {
        Definition definition = Definition.of("note");
        assertThrows(IllegalArgumentException.class, () -> definition.step("Read", ctx -> null));
        assertThrows(IllegalArgumentException.class, () -> definition.step("input", ctx -> null));
        assertThrows(IllegalArgumentException.class, () -> definition.step("publish", Publish.class, (ctx, in) -> null));
        assertThrows(IllegalArgumentException.class, () -> definition.step("a", ctx -> null).after("nowhere"));
        assertThrows(IllegalArgumentException.class, () -> definition.step("b", String.class, (ctx, in) -> null));
        assertThrows(IllegalArgumentException.class, () -> Definition.parse(FULL).code("compose", Needs.class, (ctx, in) -> null));
    }

    @Test
    void aStepInARowKeepsItsOrderOfDependencies() {
        Definition definition = Definition.parse(FULL);
        StepDefinition publish = definition.steps().get("publish").message();
        assertEquals(List.of("compose", "choice"), publish.getDependsOnList());
    }

    @Test
    void longDurationsAreKeptOrRefusedAndNeverWrapped() {
        assertEquals(Duration.ofDays(7_000_000), FieldReader.parseDuration("1000000w"));
        assertEquals(Duration.ofMillis(90_061_500), FieldReader.parseDuration("1d 1h 1m 1.5s"));
        assertThrows(IllegalArgumentException.class, () -> FieldReader.parseDuration("9".repeat(30) + "w"));
    }
}
