package io.perdure;

/**
 * A signal is stored.
 *
 * @param duplicate whether it was stored before
 * @param consumed whether it ended a wait in the same write; otherwise it is in the inbox
 * @param signalId what makes it count once
 */
public record Signalled(boolean duplicate, boolean consumed, String signalId) {}
