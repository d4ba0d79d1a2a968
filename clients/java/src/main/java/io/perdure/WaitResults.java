package io.perdure;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.JsonFormat;
import io.perdure.v1.Payload;
import io.perdure.v1.WaitResult;

/** The output of a wait step: protobuf JSON in a payload of a content type of its own. */
final class WaitResults {
    static final String CONTENT_TYPE = "application/vnd.perdure.wait-result+json";

    private WaitResults() {}

    static WaitResult parse(Payload payload) {
        WaitResult.Builder result = WaitResult.newBuilder();
        try {
            JsonFormat.parser().ignoringUnknownFields().merge(payload.getJson(), result);
        } catch (InvalidProtocolBufferException error) {
            throw Values.rejected("not the output of a wait step: " + error.getMessage());
        }
        return result.build();
    }

    static String print(WaitResult result) {
        try {
            return JsonFormat.printer().omittingInsignificantWhitespace().print(result);
        } catch (InvalidProtocolBufferException error) {
            throw new IllegalStateException("a message without Any prints", error);
        }
    }
}
