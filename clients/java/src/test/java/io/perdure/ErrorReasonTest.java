package io.perdure;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class ErrorReasonTest {
    @Test
    void theConstantsAreThoseOfTheProto() {
        Set<String> ours = Arrays.stream(ErrorReason.class.getDeclaredFields())
                .filter(field -> Modifier.isStatic(field.getModifiers()))
                .map(ErrorReasonTest::value)
                .collect(Collectors.toCollection(TreeSet::new));
        Set<String> wire = Arrays.stream(io.perdure.v1.ErrorReason.values())
                .filter(reason -> reason != io.perdure.v1.ErrorReason.UNRECOGNIZED && reason.getNumber() != 0)
                .map(reason -> reason.name().substring("ERROR_REASON_".length()))
                .collect(Collectors.toCollection(TreeSet::new));
        assertEquals(wire, ours);
    }

    private static String value(Field field) {
        try {
            assertEquals(field.getName(), field.get(null));
            return field.getName();
        } catch (IllegalAccessException error) {
            throw new AssertionError(error);
        }
    }
}
