package io.perdure.samples;

import io.perdure.Client;
import io.perdure.ErrorReason;
import io.perdure.NotFoundException;
import io.perdure.WorkflowFailedException;

/** Branch on the class or on the reason, never on text. */
public final class Errors {
    static String outcome(Client client, String key) {
        try {
            return client.run("order", key).result(String.class);
        } catch (WorkflowFailedException error) {
            return error.step() + " failed with " + error.failure().type();
        } catch (NotFoundException error) {
            if (!error.reason().equals(ErrorReason.WORKFLOW_NOT_FOUND)) {
                throw error;
            }
            return "never started";
        }
    }

    private Errors() {}
}
