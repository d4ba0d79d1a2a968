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
}
