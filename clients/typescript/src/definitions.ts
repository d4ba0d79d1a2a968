import type { CallOptions, Calls } from "./calls.js";
import { Definition, typeOf } from "./definition.js";
import { AdminService, type RegisterDefinitionResponse } from "./gen/perdure/v1/admin_service_pb.js";
import type { Definition as DefinitionMessage, RegisteredDefinition } from "./gen/perdure/v1/definition_pb.js";
import { knownId } from "./ids.js";
import { listed } from "./pages.js";
import { checkDefinition } from "./sealing.js";

type AnyDefinition = Definition | DefinitionMessage;

/** How to register a definition. */
export interface RegisterOptions extends CallOptions {
  /** Also make it the one that new starts of its type use. */
  readonly activate?: boolean | undefined;
  /** If it is known already and its policies differ, take these. */
  readonly updatePolicy?: boolean | undefined;
}

/** The definitions of one namespace; `client.definitions`. */
export class Definitions {
  readonly #calls: Calls;

  /** @internal */
  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Registers a definition and makes it the active one; the same content again changes nothing. Gives what the server keeps, with
   * fingerprint and step contracts. Rejects with DefinitionRejected, whose `violations` name each fault.
   *
   * @param definition - What to register.
   * @param options - Of the registration; `activate` is true unless it is given.
   */
  apply(definition: AnyDefinition, options: RegisterOptions = {}): Promise<RegisterDefinitionResponse> {
    return this.#register(definition, { activate: true, ...options }, false);
  }

  /**
   * Registers a definition without making it the active one, unless told to. Rejects with DefinitionRejected.
   *
   * @param definition - What to register.
   * @param options - Of the registration.
   */
  register(definition: AnyDefinition, options: RegisterOptions = {}): Promise<RegisterDefinitionResponse> {
    return this.#register(definition, options, false);
  }

  /**
   * Names faults, fingerprint and step contracts, and stores nothing. Rejects with DefinitionRejected.
   *
   * @param definition - What to check.
   * @param options - Of the call.
   */
  validate(definition: AnyDefinition, options: CallOptions = {}): Promise<RegisterDefinitionResponse> {
    return this.#register(definition, options, true);
  }

  /**
   * Makes a registered definition the one that new starts of its type use. Rejects with NotFound.
   *
   * @param workflow - The type.
   * @param fingerprint - Which definition.
   * @param options - Of the call.
   */
  async setActive(workflow: Definition | string, fingerprint: string, options: CallOptions = {}): Promise<RegisteredDefinition> {
    const request = { ...this.#named(workflow, fingerprint), requestId: knownId(undefined) };
    return known((await this.#calls.unary(AdminService.method.setActiveDefinition, request, options)).definition);
  }

  /**
   * One definition. Rejects with NotFound.
   *
   * @param workflow - The type.
   * @param fingerprint - Which definition. Absent: the active one.
   * @param options - Of the call.
   */
  async get(workflow: Definition | string, fingerprint = "", options: CallOptions = {}): Promise<RegisteredDefinition> {
    return known((await this.#calls.unary(AdminService.method.getDefinition, this.#named(workflow, fingerprint), options)).definition);
  }

  /**
   * All definitions, by type, newest first; pages are fetched as they are needed.
   *
   * @param options - Only one type, only active ones.
   */
  list(options: { readonly workflow?: Definition | string | undefined; readonly activeOnly?: boolean | undefined } = {}): AsyncGenerator<RegisteredDefinition, void, undefined> {
    const { namespace } = this.#calls.config;
    const workflowType = options.workflow === undefined ? "" : typeOf(options.workflow);
    const request = { namespace, workflowType, activeOnly: options.activeOnly ?? false };
    return listed(this.#calls, AdminService.method.listDefinitions, request, (answer) => answer.definitions);
  }

  /**
   * Removes a definition that is not active and has no kept workflow. Rejects with NotFound, NotAllowed (DEFINITION_IN_USE).
   *
   * @param workflow - The type.
   * @param fingerprint - Which definition.
   * @param options - Of the call.
   */
  async delete(workflow: Definition | string, fingerprint: string, options: CallOptions = {}): Promise<void> {
    await this.#calls.unary(AdminService.method.deleteDefinition, { ...this.#named(workflow, fingerprint), requestId: knownId(undefined) }, options);
  }

  #named(workflow: Definition | string, definitionFingerprint: string) {
    return { namespace: this.#calls.config.namespace, workflowType: typeOf(workflow), definitionFingerprint };
  }

  async #register(definition: AnyDefinition, options: RegisterOptions, validateOnly: boolean): Promise<RegisterDefinitionResponse> {
    const message = definition instanceof Definition ? definition.toMessage() : definition;
    checkDefinition(message, this.#calls.config.codec);
    return this.#calls.unary(
      AdminService.method.registerDefinition,
      {
        namespace: this.#calls.config.namespace,
        definition: message,
        activate: options.activate ?? false,
        updatePolicy: options.updatePolicy ?? false,
        validateOnly,
      },
      options,
    );
  }
}

function known(definition: RegisteredDefinition | undefined): RegisteredDefinition {
  if (definition === undefined) throw new TypeError("the server's answer has no definition");
  return definition;
}
