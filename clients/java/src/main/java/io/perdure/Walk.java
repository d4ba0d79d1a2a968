package io.perdure;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.MapEntry;
import com.google.protobuf.Message;
import io.perdure.v1.Failure;
import io.perdure.v1.Payload;
import java.util.List;
import java.util.Map;

/** Visits every value and failure of a message, by its descriptors: a Payload in a new place is reached without a line here. */
final class Walk {
    private Walk() {}

    /** What is put in the place of each value. */
    interface Visitor {
        Payload payload(Payload payload, String field);

        default Failure failure(Failure failure) {
            return failure;
        }
    }

    /** The message with what the visitor gave; the same one if it changed nothing in it. */
    static <M extends Message> M through(M message, Visitor visitor) {
        return Values.cast(visit(message, "", visitor));
    }

    private static Message visit(Message message, String field, Visitor visitor) {
        if (message instanceof Payload payload) {
            return visitor.payload(payload, field);
        }
        if (message instanceof Failure failure) {
            return visitor.failure(failure);
        }
        if (message.getDescriptorForType().getFullName().startsWith("google.protobuf.")) {
            return message;
        }
        Message.Builder changed = null;
        for (Map.Entry<FieldDescriptor, Object> entry : message.getAllFields().entrySet()) {
            FieldDescriptor found = entry.getKey();
            if (found.getJavaType() != FieldDescriptor.JavaType.MESSAGE) {
                continue;
            }
            Object before = entry.getValue();
            Object after = found.isRepeated() ? all(Values.cast(before), found, visitor) : visit((Message) before, found.getName(), visitor);
            if (after != before) {
                changed = changed == null ? message.toBuilder() : changed;
                changed.setField(found, after);
            }
        }
        return changed == null ? message : changed.build();
    }

    private static List<Message> all(List<Message> parts, FieldDescriptor field, Visitor visitor) {
        return parts.stream().map(part -> field.isMapField() ? entry(part, visitor) : visit(part, field.getName(), visitor)).toList();
    }

    private static Message entry(Message part, Visitor visitor) {
        MapEntry<?, ?> entry = (MapEntry<?, ?>) part;
        if (!(entry.getValue() instanceof Message value)) {
            return part;
        }
        FieldDescriptor field = entry.getDescriptorForType().findFieldByName("value");
        return entry.toBuilder().setField(field, visit(value, "value", visitor)).build();
    }
}
