package io.perdure;

import io.perdure.v1.AdminServiceGrpc;
import io.perdure.v1.DeleteDefinitionRequest;
import io.perdure.v1.GetDefinitionRequest;
import io.perdure.v1.ListDefinitionsRequest;
import io.perdure.v1.ListDefinitionsResponse;
import io.perdure.v1.RegisterDefinitionRequest;
import io.perdure.v1.RegisterDefinitionResponse;
import io.perdure.v1.RegisteredDefinition;
import io.perdure.v1.SetActiveDefinitionRequest;
import java.util.UUID;

/** The definitions of one namespace; {@link Client#definitions()}. Fingerprints and step contracts come from the server. */
public final class Definitions {
    private final Calls calls;

    Definitions(Calls calls) {
        this.calls = calls;
    }

    /**
     * Registers a definition and makes it the one that new starts of its type use; the same content again changes nothing.
     *
     * @param definition what to register
     * @return the definition as the server keeps it
     * @throws DefinitionRejectedException it has faults; its violations name each
     */
    public RegisteredDefinition apply(Definition definition) {
        return register(definition, true, false, false).getDefinition();
    }

    /**
     * Registers a definition without making it active; new starts go on with the one before.
     *
     * @param definition what to register
     * @return the definition as the server keeps it
     * @throws DefinitionRejectedException it has faults
     */
    public RegisteredDefinition register(Definition definition) {
        return register(definition, false, false, false).getDefinition();
    }

    /**
     * Registers a definition, as is said.
     *
     * @param definition what to register
     * @param activate whether new starts of its type use it from then on
     * @param updatePolicy whether its policies are taken, if it is known already and they differ
     * @return the definition as the server keeps it, whether it is new, and warnings
     * @throws DefinitionRejectedException it has faults
     */
    public RegisterDefinitionResponse register(Definition definition, boolean activate, boolean updatePolicy) {
        return register(definition, activate, updatePolicy, false);
    }

    /**
     * Names faults, warnings, fingerprint and step contracts, and stores nothing.
     *
     * @param definition what to look at
     * @return what a registration would answer
     * @throws DefinitionRejectedException it has faults
     */
    public RegisterDefinitionResponse validate(Definition definition) {
        return register(definition, false, false, true);
    }

    /**
     * Makes a registered definition the one that new starts use.
     *
     * @param workflowType its type
     * @param fingerprint its fingerprint
     * @return the definition
     * @throws NotFoundException there is none
     */
    public RegisteredDefinition activate(String workflowType, String fingerprint) {
        SetActiveDefinitionRequest request = SetActiveDefinitionRequest.newBuilder()
                .setNamespace(calls.config().namespace())
                .setWorkflowType(workflowType)
                .setDefinitionFingerprint(fingerprint)
                .build();
        return calls.unary(AdminServiceGrpc.getSetActiveDefinitionMethod(), request).getDefinition();
    }

    /**
     * The active definition of a type.
     *
     * @param workflowType the type
     * @return the definition
     * @throws NotFoundException there is none
     */
    public RegisteredDefinition get(String workflowType) {
        return get(workflowType, "");
    }

    /**
     * One definition.
     *
     * @param workflowType its type
     * @param fingerprint its fingerprint; empty: the active one
     * @return the definition
     * @throws NotFoundException there is none
     */
    public RegisteredDefinition get(String workflowType, String fingerprint) {
        GetDefinitionRequest request = GetDefinitionRequest.newBuilder()
                .setNamespace(calls.config().namespace())
                .setWorkflowType(workflowType)
                .setDefinitionFingerprint(fingerprint)
                .build();
        return calls.unary(AdminServiceGrpc.getGetDefinitionMethod(), request).getDefinition();
    }

    /**
     * Definitions by type, newest first.
     *
     * @param workflowType only those of this type; empty: all
     * @return the definitions
     */
    public Pages<RegisteredDefinition> list(String workflowType) {
        ListDefinitionsRequest request = ListDefinitionsRequest.newBuilder()
                .setNamespace(calls.config().namespace())
                .setWorkflowType(workflowType)
                .build();
        return Pages.of(
                token -> calls.unary(
                        AdminServiceGrpc.getListDefinitionsMethod(), request.toBuilder().setPageToken(token).build()),
                ListDefinitionsResponse::getDefinitionsList,
                ListDefinitionsResponse::getNextPageToken,
                found -> found);
    }

    /**
     * Removes a definition that is not active and has no kept workflow.
     *
     * @param workflowType its type
     * @param fingerprint its fingerprint
     * @throws NotAllowedException it is in use
     */
    public void delete(String workflowType, String fingerprint) {
        DeleteDefinitionRequest request = DeleteDefinitionRequest.newBuilder()
                .setNamespace(calls.config().namespace())
                .setWorkflowType(workflowType)
                .setDefinitionFingerprint(fingerprint)
                .setRequestId(UUID.randomUUID().toString())
                .build();
        calls.unary(AdminServiceGrpc.getDeleteDefinitionMethod(), request);
    }

    private RegisterDefinitionResponse register(
            Definition definition, boolean activate, boolean updatePolicy, boolean validateOnly) {
        definition.checkFor(calls.config().codec());
        RegisterDefinitionRequest request = RegisterDefinitionRequest.newBuilder()
                .setNamespace(calls.config().namespace())
                .setDefinition(definition.message())
                .setActivate(activate)
                .setUpdatePolicy(updatePolicy)
                .setValidateOnly(validateOnly)
                .build();
        return calls.unary(AdminServiceGrpc.getRegisterDefinitionMethod(), request);
    }
}
