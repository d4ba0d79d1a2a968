package perdure

import (
	"context"
	"iter"

	"google.golang.org/protobuf/proto"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

// Definitions are those of one namespace; see [Client.Definitions].
type Definitions struct{ client *Client }

// Definitions are the definitions of the client's namespace.
func (c *Client) Definitions() Definitions { return Definitions{c} }

// Registered is a definition as the server keeps it.
type Registered struct {
	// Type is the name of the workflow's type, Version the author's version.
	Type, Version string
	// Fingerprint is over structure and step contracts; only the server computes it.
	Fingerprint string
	// StepContracts are by step, for those that workers serve.
	StepContracts map[string]string
	// Active: new starts of the type use it.
	Active bool
	// Created: this call registered it.
	Created bool
	// Warnings are what is allowed but probably not meant.
	Warnings []string
	// Message is all that the server told.
	Message *perdurev1.RegisteredDefinition
}

func registeredOf(message *perdurev1.RegisteredDefinition) *Registered {
	return &Registered{
		Type: message.GetDefinition().GetWorkflowType(), Version: message.GetDefinition().GetVersion(),
		Fingerprint: message.GetFingerprint(), StepContracts: message.GetStepContracts(), Active: message.GetActive(), Message: message,
	}
}

// Validate names faults, fingerprint and contracts of a definition, and stores nothing.
func (d Definitions) Validate(ctx context.Context, definition *perdurev1.Definition) (*Registered, error) {
	return d.register(ctx, &perdurev1.RegisterDefinitionRequest{Definition: definition, ValidateOnly: true})
}

// RegisterOption says what else happens to a definition that is registered.
type RegisterOption interface {
	applyToRegister(*perdurev1.RegisterDefinitionRequest)
}

type registerOption func(*perdurev1.RegisterDefinitionRequest)

func (o registerOption) applyToRegister(to *perdurev1.RegisterDefinitionRequest) { o(to) }

// Activate also makes it the one that new starts of its type use.
func Activate() RegisterOption {
	return registerOption(func(to *perdurev1.RegisterDefinitionRequest) { to.Activate = true })
}

// UpdatePolicy also takes its policies, where it is known already with others.
func UpdatePolicy() RegisterOption {
	return registerOption(func(to *perdurev1.RegisterDefinitionRequest) { to.UpdatePolicy = true })
}

// Register stores a definition; the same content again changes nothing. By itself it becomes the active one only if the type
// has none and the server says so, as `perdure dev` does.
func (d Definitions) Register(ctx context.Context, definition *perdurev1.Definition, options ...RegisterOption) (*Registered, error) {
	request := &perdurev1.RegisterDefinitionRequest{Definition: definition}
	for _, option := range options {
		option.applyToRegister(request)
	}
	return d.register(ctx, request)
}

// Apply registers a definition, takes its policies, and makes it the one that new starts of its type use.
func (d Definitions) Apply(ctx context.Context, definition *perdurev1.Definition) (*Registered, error) {
	return d.Register(ctx, definition, Activate(), UpdatePolicy())
}

func (d Definitions) register(ctx context.Context, request *perdurev1.RegisterDefinitionRequest) (*Registered, error) {
	if err := checkDefinition(request.GetDefinition(), d.client.Config().Codec); err != nil {
		return nil, err
	}
	request.Namespace = d.client.Config().Namespace
	ctx, cancel := d.client.contact.bounded(ctx)
	defer cancel()
	answer, err := d.client.admin.RegisterDefinition(ctx, request)
	if err != nil {
		return nil, err
	}
	made := registeredOf(answer.GetDefinition())
	made.Created = answer.GetCreated()
	for _, warning := range answer.GetWarnings() {
		made.Warnings = append(made.Warnings, warning.GetField()+": "+warning.GetDescription())
	}
	return made, nil
}

// Activate makes a registered definition the one that new starts use.
func (d Definitions) Activate(ctx context.Context, workflowType, fingerprint string) (*Registered, error) {
	ctx, cancel := d.client.contact.bounded(ctx)
	defer cancel()
	answer, err := d.client.admin.SetActiveDefinition(ctx, &perdurev1.SetActiveDefinitionRequest{
		Namespace: d.client.Config().Namespace, WorkflowType: workflowType, DefinitionFingerprint: fingerprint,
	})
	if err != nil {
		return nil, err
	}
	return registeredOf(answer.GetDefinition()), nil
}

// Get is one definition; an empty fingerprint: the active one.
func (d Definitions) Get(ctx context.Context, workflowType, fingerprint string) (*Registered, error) {
	ctx, cancel := d.client.contact.bounded(ctx)
	defer cancel()
	answer, err := d.client.admin.GetDefinition(ctx, &perdurev1.GetDefinitionRequest{
		Namespace: d.client.Config().Namespace, WorkflowType: workflowType, DefinitionFingerprint: fingerprint,
	})
	if err != nil {
		return nil, err
	}
	return registeredOf(answer.GetDefinition()), nil
}

// List are all definitions, or those of one type, by type, newest first.
func (d Definitions) List(ctx context.Context, workflowType string) iter.Seq2[*Registered, error] {
	request := &perdurev1.ListDefinitionsRequest{Namespace: d.client.Config().Namespace, WorkflowType: workflowType}
	return pages(ctx, d.client, func(ctx context.Context, token string) ([]*perdurev1.RegisteredDefinition, string, error) {
		request.PageToken = token
		answer, err := d.client.admin.ListDefinitions(ctx, request)
		return answer.GetDefinitions(), answer.GetNextPageToken(), err
	}, registeredOf)
}

// Delete removes a definition that is not active and has no kept workflow, else DEFINITION_IN_USE.
func (d Definitions) Delete(ctx context.Context, workflowType, fingerprint string) error {
	ctx, cancel := d.client.contact.bounded(ctx)
	defer cancel()
	_, err := d.client.admin.DeleteDefinition(ctx, &perdurev1.DeleteDefinitionRequest{
		Namespace: d.client.Config().Namespace, WorkflowType: workflowType, DefinitionFingerprint: fingerprint, RequestId: newID(),
	})
	return err
}

// Resources are those of one namespace, whose permits steps hold; see [Client.Resources].
type Resources struct{ client *Client }

// Resources are the resources of the client's namespace.
func (c *Client) Resources() Resources { return Resources{c} }

// Put makes a resource or changes it; workflows that use it need not be stopped. Fields that are unset return to their defaults:
//
//	capacity := int64(4)
//	client.Resources().Put(ctx, &perdurev1.Resource{Resource: "asr", Capacity: &capacity})
func (r Resources) Put(ctx context.Context, resource *perdurev1.Resource) (*perdurev1.Resource, error) {
	if resource.GetNamespace() == "" {
		resource = proto.Clone(resource).(*perdurev1.Resource)
		resource.Namespace = r.client.Config().Namespace
	}
	ctx, cancel := r.client.contact.bounded(ctx)
	defer cancel()
	answer, err := r.client.admin.PutResource(ctx, &perdurev1.PutResourceRequest{Resource: resource, RequestId: newID()})
	return answer.GetResource(), err
}

// List are all resources, with who uses them.
func (r Resources) List(ctx context.Context) iter.Seq2[*perdurev1.Resource, error] {
	request := &perdurev1.ListResourcesRequest{Namespace: r.client.Config().Namespace}
	return pages(ctx, r.client, func(ctx context.Context, token string) ([]*perdurev1.Resource, string, error) {
		request.PageToken = token
		answer, err := r.client.admin.ListResources(ctx, request)
		return answer.GetResources(), answer.GetNextPageToken(), err
	}, itself)
}

// Delete removes a resource that nobody holds or waits for, else RESOURCE_IN_USE.
func (r Resources) Delete(ctx context.Context, name string) error {
	ctx, cancel := r.client.contact.bounded(ctx)
	defer cancel()
	_, err := r.client.admin.DeleteResource(ctx, &perdurev1.DeleteResourceRequest{
		Namespace: r.client.Config().Namespace, Resource: name, RequestId: newID(),
	})
	return err
}

// Queues are what is ready and running, per queue and step, and who serves it. An empty queue: all.
func (c *Client) Queues(ctx context.Context, queue string) iter.Seq2[*perdurev1.Queue, error] {
	request := &perdurev1.ListQueuesRequest{Namespace: c.Config().Namespace, Queue: queue}
	return pages(ctx, c, func(ctx context.Context, token string) ([]*perdurev1.Queue, string, error) {
		request.PageToken = token
		answer, err := c.admin.ListQueues(ctx, request)
		return answer.GetQueues(), answer.GetNextPageToken(), err
	}, itself)
}

// Workers are the sessions of workers, by worker id. An empty queue: of all.
func (c *Client) Workers(ctx context.Context, queue string) iter.Seq2[*perdurev1.Worker, error] {
	request := &perdurev1.ListWorkersRequest{Namespace: c.Config().Namespace, Queue: queue}
	return pages(ctx, c, func(ctx context.Context, token string) ([]*perdurev1.Worker, string, error) {
		request.PageToken = token
		answer, err := c.admin.ListWorkers(ctx, request)
		return answer.GetWorkers(), answer.GetNextPageToken(), err
	}, itself)
}

// ServerInfo is the server that answers: version, defaults, limits, store, coordination, and what it found wrong.
func (c *Client) ServerInfo(ctx context.Context) (*perdurev1.GetServerInfoResponse, error) {
	ctx, cancel := c.contact.bounded(ctx)
	defer cancel()
	return c.admin.GetServerInfo(ctx, &perdurev1.GetServerInfoRequest{})
}
