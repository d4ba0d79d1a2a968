package io.perdure;

/**
 * What a start answered.
 *
 * @param created whether this call began the round; false for every repeat
 * @param runId the run's random id
 * @param fence the run's fence
 * @param state the workflow's state
 * @param definitionFingerprint the definition that it runs by
 */
public record Started(boolean created, String runId, long fence, WorkflowState state, String definitionFingerprint) {}
