package io.perdure;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.NullNode;
import io.perdure.v1.Payload;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class ValuesTest {
    record Order(long id, BigInteger total, Instant time, Duration within, Optional<String> note) {}

    @Test
    void recordsWithLargeIntegersAndTimesSurvive() {
        Order order = new Order(Long.MAX_VALUE, new BigInteger("123456789012345678901234567890"), Instant.parse("2030-01-01T00:00:00Z"),
                Duration.ofSeconds(90), Optional.of("Grüße, 世界 \ud83d\ude80"));
        Payload payload = Payloads.of(order);
        assertTrue(payload.getJson().contains("9223372036854775807"), payload.getJson());
        assertTrue(payload.getJson().contains("世界 \ud83d\ude80"), payload.getJson());
        assertEquals(order, Payloads.decode(payload, Order.class));
    }

    @Test
    void numbersWithoutATypeKeepEveryDigit() {
        Object value = Payloads.decode(Payload.newBuilder().setJson("[9007199254740993, 0.1000000000000000055, 18446744073709551615]").build(), Object.class);
        assertEquals(List.of(9007199254740993L, new BigDecimal("0.1000000000000000055"), new BigInteger("18446744073709551615")), value);
    }

    @Test
    void absentDiffersFromNull() {
        assertEquals(Payload.getDefaultInstance(), Payloads.of(null));
        assertEquals(Payload.getDefaultInstance(), Payloads.of(Optional.empty()));
        assertEquals("null", Payloads.of(NullNode.getInstance()).getJson());
        assertEquals(NullNode.getInstance(), Payloads.decode(Payload.newBuilder().setJson("null").build(), JsonNode.class));
        assertEquals(MissingNode.getInstance(), Payloads.decode(Payload.getDefaultInstance(), JsonNode.class));
        assertEquals(Optional.empty(), Payloads.decode(Payload.getDefaultInstance(), new TypeReference<Optional<String>>() {}));
        assertNull(Payloads.decode(Payload.getDefaultInstance(), Object.class));
        PayloadRejectedException error =
                assertThrows(PayloadRejectedException.class, () -> Payloads.decode(Payload.getDefaultInstance(), String.class));
        assertEquals(ErrorReason.PAYLOAD_INVALID, error.reason());
    }

    @Test
    void bytesTravelAsTheyAre() {
        byte[] bytes = {0, 1, (byte) 0xff};
        assertArrayEquals(bytes, Payloads.decode(Payloads.of(bytes), byte[].class));
        assertThrows(PayloadRejectedException.class, () -> Payloads.decode(Payloads.of(bytes), String.class));
    }

    @Test
    void whatJsonHasNoFormForIsRefusedWithItsPlace() {
        PayloadRejectedException error =
                assertThrows(PayloadRejectedException.class, () -> Payloads.of(Map.of("a", List.of(1.0, Double.NaN))));
        assertTrue(error.getMessage().contains("/a/1"), error.getMessage());
        assertThrows(PayloadRejectedException.class, () -> Payloads.of(new double[] {Double.POSITIVE_INFINITY}));
        assertThrows(PayloadRejectedException.class, () -> Payloads.of(Map.of("a", Float.NaN)));
    }

    @Test
    void anotherTypeIsRefusedWithoutTheValueInTheText() {
        Payload payload = Payload.newBuilder().setJson("{\"id\": \"secret words\"}").build();
        PayloadRejectedException error = assertThrows(PayloadRejectedException.class, () -> Payloads.decode(payload, Order.class));
        assertTrue(error.getMessage().contains("Order"), error.getMessage());
    }

    @Test
    void textIsCutBetweenCharacters() {
        assertEquals("ab", Failures.cut("ab", 2));
        assertEquals("aé", Failures.cut("aéé", 4));
        assertEquals("\ud83d\ude80", Failures.cut("\ud83d\ude80\ud83d\ude80", 7));
    }

    @Test
    void negativeDurationsHaveOneSign() {
        Duration negative = Duration.ofMillis(-1500);
        assertEquals(-1, Times.message(negative).getSeconds());
        assertEquals(-500_000_000, Times.message(negative).getNanos());
        assertEquals(negative, Times.of(Times.message(negative)));
    }

    /** Without getters: nothing of it would travel. */
    static final class Closed {
        final long cents = 5;
    }

    record Nothing() {}

    @Test
    void whatWouldTravelAsSomethingElseIsRefused() {
        assertThrows(PayloadRejectedException.class, () -> Payloads.of("half of a pair: \ud83d"));
        assertThrows(PayloadRejectedException.class, () -> Payloads.of(Map.of("a\udc00", 1)));
        assertThrows(PayloadRejectedException.class, () -> Payloads.of(List.of(new char[] {'\ud83d'})));
        assertThrows(PayloadRejectedException.class, () -> Payloads.of(CompletableFuture.completedFuture(1)));
        assertThrows(PayloadRejectedException.class, () -> Payloads.of(Map.of("a", CompletableFuture.completedFuture(1))));
        assertThrows(PayloadRejectedException.class, () -> Payloads.of(new Closed()));
        assertEquals("{}", Payloads.of(new Nothing()).getJson());
        assertEquals("\"\ud83d\ude80\"", Payloads.of("\ud83d\ude80").getJson());
    }

    @Test
    void deepValuesComeBackOrAreRefused() {
        Object deep = List.of();
        for (int depth = 0; depth < 900; depth++) {
            deep = List.of(deep);
        }
        assertEquals(deep, Payloads.decode(Payloads.of(deep), Object.class));
        Object deeper = deep;
        for (int depth = 0; depth < 100_000; depth++) {
            deeper = List.of(deeper);
        }
        Object deepest = deeper;
        assertThrows(PayloadRejectedException.class, () -> Payloads.of(deepest));
        Payload text = Payload.newBuilder().setJson("[".repeat(100_000) + "]".repeat(100_000)).build();
        assertThrows(PayloadRejectedException.class, () -> Payloads.decode(text, Object.class));
    }

    @Test
    void aFailureWhoseDetailsCannotBeReadIsAFailureStill() {
        Payload deep = Payload.newBuilder().setJson("[".repeat(2000) + "]".repeat(2000)).build();
        Failure failure = Failures.of(io.perdure.v1.Failure.newBuilder().setType("t").setMessage("m").setDetails(deep).build());
        assertEquals("m", failure.message());
    }

    @Test
    void theSizeOfTextIsThatOfItsBytes() {
        assertEquals(11, Values.size(Payloads.of("\u4e16\u754c\u4e16")));
    }
}
