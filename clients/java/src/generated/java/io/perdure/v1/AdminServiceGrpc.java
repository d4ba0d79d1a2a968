package io.perdure.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Definitions, shared limits, operations on many workflows, and the server itself.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class AdminServiceGrpc {

  private AdminServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "perdure.v1.AdminService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.RegisterDefinitionRequest,
      io.perdure.v1.RegisterDefinitionResponse> getRegisterDefinitionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RegisterDefinition",
      requestType = io.perdure.v1.RegisterDefinitionRequest.class,
      responseType = io.perdure.v1.RegisterDefinitionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.RegisterDefinitionRequest,
      io.perdure.v1.RegisterDefinitionResponse> getRegisterDefinitionMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.RegisterDefinitionRequest, io.perdure.v1.RegisterDefinitionResponse> getRegisterDefinitionMethod;
    if ((getRegisterDefinitionMethod = AdminServiceGrpc.getRegisterDefinitionMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getRegisterDefinitionMethod = AdminServiceGrpc.getRegisterDefinitionMethod) == null) {
          AdminServiceGrpc.getRegisterDefinitionMethod = getRegisterDefinitionMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.RegisterDefinitionRequest, io.perdure.v1.RegisterDefinitionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RegisterDefinition"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.RegisterDefinitionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.RegisterDefinitionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("RegisterDefinition"))
              .build();
        }
      }
    }
    return getRegisterDefinitionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.SetActiveDefinitionRequest,
      io.perdure.v1.SetActiveDefinitionResponse> getSetActiveDefinitionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SetActiveDefinition",
      requestType = io.perdure.v1.SetActiveDefinitionRequest.class,
      responseType = io.perdure.v1.SetActiveDefinitionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.SetActiveDefinitionRequest,
      io.perdure.v1.SetActiveDefinitionResponse> getSetActiveDefinitionMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.SetActiveDefinitionRequest, io.perdure.v1.SetActiveDefinitionResponse> getSetActiveDefinitionMethod;
    if ((getSetActiveDefinitionMethod = AdminServiceGrpc.getSetActiveDefinitionMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getSetActiveDefinitionMethod = AdminServiceGrpc.getSetActiveDefinitionMethod) == null) {
          AdminServiceGrpc.getSetActiveDefinitionMethod = getSetActiveDefinitionMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.SetActiveDefinitionRequest, io.perdure.v1.SetActiveDefinitionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SetActiveDefinition"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.SetActiveDefinitionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.SetActiveDefinitionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("SetActiveDefinition"))
              .build();
        }
      }
    }
    return getSetActiveDefinitionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.UpdatePolicyRequest,
      io.perdure.v1.UpdatePolicyResponse> getUpdatePolicyMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "UpdatePolicy",
      requestType = io.perdure.v1.UpdatePolicyRequest.class,
      responseType = io.perdure.v1.UpdatePolicyResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.UpdatePolicyRequest,
      io.perdure.v1.UpdatePolicyResponse> getUpdatePolicyMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.UpdatePolicyRequest, io.perdure.v1.UpdatePolicyResponse> getUpdatePolicyMethod;
    if ((getUpdatePolicyMethod = AdminServiceGrpc.getUpdatePolicyMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getUpdatePolicyMethod = AdminServiceGrpc.getUpdatePolicyMethod) == null) {
          AdminServiceGrpc.getUpdatePolicyMethod = getUpdatePolicyMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.UpdatePolicyRequest, io.perdure.v1.UpdatePolicyResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "UpdatePolicy"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.UpdatePolicyRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.UpdatePolicyResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("UpdatePolicy"))
              .build();
        }
      }
    }
    return getUpdatePolicyMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.GetDefinitionRequest,
      io.perdure.v1.GetDefinitionResponse> getGetDefinitionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetDefinition",
      requestType = io.perdure.v1.GetDefinitionRequest.class,
      responseType = io.perdure.v1.GetDefinitionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.GetDefinitionRequest,
      io.perdure.v1.GetDefinitionResponse> getGetDefinitionMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.GetDefinitionRequest, io.perdure.v1.GetDefinitionResponse> getGetDefinitionMethod;
    if ((getGetDefinitionMethod = AdminServiceGrpc.getGetDefinitionMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getGetDefinitionMethod = AdminServiceGrpc.getGetDefinitionMethod) == null) {
          AdminServiceGrpc.getGetDefinitionMethod = getGetDefinitionMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.GetDefinitionRequest, io.perdure.v1.GetDefinitionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetDefinition"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.GetDefinitionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.GetDefinitionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("GetDefinition"))
              .build();
        }
      }
    }
    return getGetDefinitionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ListDefinitionsRequest,
      io.perdure.v1.ListDefinitionsResponse> getListDefinitionsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListDefinitions",
      requestType = io.perdure.v1.ListDefinitionsRequest.class,
      responseType = io.perdure.v1.ListDefinitionsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ListDefinitionsRequest,
      io.perdure.v1.ListDefinitionsResponse> getListDefinitionsMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ListDefinitionsRequest, io.perdure.v1.ListDefinitionsResponse> getListDefinitionsMethod;
    if ((getListDefinitionsMethod = AdminServiceGrpc.getListDefinitionsMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getListDefinitionsMethod = AdminServiceGrpc.getListDefinitionsMethod) == null) {
          AdminServiceGrpc.getListDefinitionsMethod = getListDefinitionsMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ListDefinitionsRequest, io.perdure.v1.ListDefinitionsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListDefinitions"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListDefinitionsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListDefinitionsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("ListDefinitions"))
              .build();
        }
      }
    }
    return getListDefinitionsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.DeleteDefinitionRequest,
      io.perdure.v1.DeleteDefinitionResponse> getDeleteDefinitionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteDefinition",
      requestType = io.perdure.v1.DeleteDefinitionRequest.class,
      responseType = io.perdure.v1.DeleteDefinitionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.DeleteDefinitionRequest,
      io.perdure.v1.DeleteDefinitionResponse> getDeleteDefinitionMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.DeleteDefinitionRequest, io.perdure.v1.DeleteDefinitionResponse> getDeleteDefinitionMethod;
    if ((getDeleteDefinitionMethod = AdminServiceGrpc.getDeleteDefinitionMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getDeleteDefinitionMethod = AdminServiceGrpc.getDeleteDefinitionMethod) == null) {
          AdminServiceGrpc.getDeleteDefinitionMethod = getDeleteDefinitionMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.DeleteDefinitionRequest, io.perdure.v1.DeleteDefinitionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteDefinition"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.DeleteDefinitionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.DeleteDefinitionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("DeleteDefinition"))
              .build();
        }
      }
    }
    return getDeleteDefinitionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.TestDefinitionRequest,
      io.perdure.v1.TestDefinitionResponse> getTestDefinitionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "TestDefinition",
      requestType = io.perdure.v1.TestDefinitionRequest.class,
      responseType = io.perdure.v1.TestDefinitionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.TestDefinitionRequest,
      io.perdure.v1.TestDefinitionResponse> getTestDefinitionMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.TestDefinitionRequest, io.perdure.v1.TestDefinitionResponse> getTestDefinitionMethod;
    if ((getTestDefinitionMethod = AdminServiceGrpc.getTestDefinitionMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getTestDefinitionMethod = AdminServiceGrpc.getTestDefinitionMethod) == null) {
          AdminServiceGrpc.getTestDefinitionMethod = getTestDefinitionMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.TestDefinitionRequest, io.perdure.v1.TestDefinitionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "TestDefinition"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.TestDefinitionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.TestDefinitionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("TestDefinition"))
              .build();
        }
      }
    }
    return getTestDefinitionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.PauseDefinitionRequest,
      io.perdure.v1.PauseDefinitionResponse> getPauseDefinitionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PauseDefinition",
      requestType = io.perdure.v1.PauseDefinitionRequest.class,
      responseType = io.perdure.v1.PauseDefinitionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.PauseDefinitionRequest,
      io.perdure.v1.PauseDefinitionResponse> getPauseDefinitionMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.PauseDefinitionRequest, io.perdure.v1.PauseDefinitionResponse> getPauseDefinitionMethod;
    if ((getPauseDefinitionMethod = AdminServiceGrpc.getPauseDefinitionMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getPauseDefinitionMethod = AdminServiceGrpc.getPauseDefinitionMethod) == null) {
          AdminServiceGrpc.getPauseDefinitionMethod = getPauseDefinitionMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.PauseDefinitionRequest, io.perdure.v1.PauseDefinitionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PauseDefinition"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.PauseDefinitionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.PauseDefinitionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("PauseDefinition"))
              .build();
        }
      }
    }
    return getPauseDefinitionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ResumeDefinitionRequest,
      io.perdure.v1.ResumeDefinitionResponse> getResumeDefinitionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ResumeDefinition",
      requestType = io.perdure.v1.ResumeDefinitionRequest.class,
      responseType = io.perdure.v1.ResumeDefinitionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ResumeDefinitionRequest,
      io.perdure.v1.ResumeDefinitionResponse> getResumeDefinitionMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ResumeDefinitionRequest, io.perdure.v1.ResumeDefinitionResponse> getResumeDefinitionMethod;
    if ((getResumeDefinitionMethod = AdminServiceGrpc.getResumeDefinitionMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getResumeDefinitionMethod = AdminServiceGrpc.getResumeDefinitionMethod) == null) {
          AdminServiceGrpc.getResumeDefinitionMethod = getResumeDefinitionMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ResumeDefinitionRequest, io.perdure.v1.ResumeDefinitionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ResumeDefinition"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ResumeDefinitionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ResumeDefinitionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("ResumeDefinition"))
              .build();
        }
      }
    }
    return getResumeDefinitionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.MigrateWorkflowsRequest,
      io.perdure.v1.MigrateWorkflowsResponse> getMigrateWorkflowsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "MigrateWorkflows",
      requestType = io.perdure.v1.MigrateWorkflowsRequest.class,
      responseType = io.perdure.v1.MigrateWorkflowsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.MigrateWorkflowsRequest,
      io.perdure.v1.MigrateWorkflowsResponse> getMigrateWorkflowsMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.MigrateWorkflowsRequest, io.perdure.v1.MigrateWorkflowsResponse> getMigrateWorkflowsMethod;
    if ((getMigrateWorkflowsMethod = AdminServiceGrpc.getMigrateWorkflowsMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getMigrateWorkflowsMethod = AdminServiceGrpc.getMigrateWorkflowsMethod) == null) {
          AdminServiceGrpc.getMigrateWorkflowsMethod = getMigrateWorkflowsMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.MigrateWorkflowsRequest, io.perdure.v1.MigrateWorkflowsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "MigrateWorkflows"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.MigrateWorkflowsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.MigrateWorkflowsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("MigrateWorkflows"))
              .build();
        }
      }
    }
    return getMigrateWorkflowsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.PutResourceRequest,
      io.perdure.v1.PutResourceResponse> getPutResourceMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PutResource",
      requestType = io.perdure.v1.PutResourceRequest.class,
      responseType = io.perdure.v1.PutResourceResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.PutResourceRequest,
      io.perdure.v1.PutResourceResponse> getPutResourceMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.PutResourceRequest, io.perdure.v1.PutResourceResponse> getPutResourceMethod;
    if ((getPutResourceMethod = AdminServiceGrpc.getPutResourceMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getPutResourceMethod = AdminServiceGrpc.getPutResourceMethod) == null) {
          AdminServiceGrpc.getPutResourceMethod = getPutResourceMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.PutResourceRequest, io.perdure.v1.PutResourceResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PutResource"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.PutResourceRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.PutResourceResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("PutResource"))
              .build();
        }
      }
    }
    return getPutResourceMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ListResourcesRequest,
      io.perdure.v1.ListResourcesResponse> getListResourcesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListResources",
      requestType = io.perdure.v1.ListResourcesRequest.class,
      responseType = io.perdure.v1.ListResourcesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ListResourcesRequest,
      io.perdure.v1.ListResourcesResponse> getListResourcesMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ListResourcesRequest, io.perdure.v1.ListResourcesResponse> getListResourcesMethod;
    if ((getListResourcesMethod = AdminServiceGrpc.getListResourcesMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getListResourcesMethod = AdminServiceGrpc.getListResourcesMethod) == null) {
          AdminServiceGrpc.getListResourcesMethod = getListResourcesMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ListResourcesRequest, io.perdure.v1.ListResourcesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListResources"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListResourcesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListResourcesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("ListResources"))
              .build();
        }
      }
    }
    return getListResourcesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.DeleteResourceRequest,
      io.perdure.v1.DeleteResourceResponse> getDeleteResourceMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteResource",
      requestType = io.perdure.v1.DeleteResourceRequest.class,
      responseType = io.perdure.v1.DeleteResourceResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.DeleteResourceRequest,
      io.perdure.v1.DeleteResourceResponse> getDeleteResourceMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.DeleteResourceRequest, io.perdure.v1.DeleteResourceResponse> getDeleteResourceMethod;
    if ((getDeleteResourceMethod = AdminServiceGrpc.getDeleteResourceMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getDeleteResourceMethod = AdminServiceGrpc.getDeleteResourceMethod) == null) {
          AdminServiceGrpc.getDeleteResourceMethod = getDeleteResourceMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.DeleteResourceRequest, io.perdure.v1.DeleteResourceResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteResource"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.DeleteResourceRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.DeleteResourceResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("DeleteResource"))
              .build();
        }
      }
    }
    return getDeleteResourceMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ListQueuesRequest,
      io.perdure.v1.ListQueuesResponse> getListQueuesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListQueues",
      requestType = io.perdure.v1.ListQueuesRequest.class,
      responseType = io.perdure.v1.ListQueuesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ListQueuesRequest,
      io.perdure.v1.ListQueuesResponse> getListQueuesMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ListQueuesRequest, io.perdure.v1.ListQueuesResponse> getListQueuesMethod;
    if ((getListQueuesMethod = AdminServiceGrpc.getListQueuesMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getListQueuesMethod = AdminServiceGrpc.getListQueuesMethod) == null) {
          AdminServiceGrpc.getListQueuesMethod = getListQueuesMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ListQueuesRequest, io.perdure.v1.ListQueuesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListQueues"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListQueuesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListQueuesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("ListQueues"))
              .build();
        }
      }
    }
    return getListQueuesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ListWorkersRequest,
      io.perdure.v1.ListWorkersResponse> getListWorkersMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListWorkers",
      requestType = io.perdure.v1.ListWorkersRequest.class,
      responseType = io.perdure.v1.ListWorkersResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ListWorkersRequest,
      io.perdure.v1.ListWorkersResponse> getListWorkersMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ListWorkersRequest, io.perdure.v1.ListWorkersResponse> getListWorkersMethod;
    if ((getListWorkersMethod = AdminServiceGrpc.getListWorkersMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getListWorkersMethod = AdminServiceGrpc.getListWorkersMethod) == null) {
          AdminServiceGrpc.getListWorkersMethod = getListWorkersMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ListWorkersRequest, io.perdure.v1.ListWorkersResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListWorkers"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListWorkersRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListWorkersResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("ListWorkers"))
              .build();
        }
      }
    }
    return getListWorkersMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ResolveStepRequest,
      io.perdure.v1.ResolveStepResponse> getResolveStepMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ResolveStep",
      requestType = io.perdure.v1.ResolveStepRequest.class,
      responseType = io.perdure.v1.ResolveStepResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ResolveStepRequest,
      io.perdure.v1.ResolveStepResponse> getResolveStepMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ResolveStepRequest, io.perdure.v1.ResolveStepResponse> getResolveStepMethod;
    if ((getResolveStepMethod = AdminServiceGrpc.getResolveStepMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getResolveStepMethod = AdminServiceGrpc.getResolveStepMethod) == null) {
          AdminServiceGrpc.getResolveStepMethod = getResolveStepMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ResolveStepRequest, io.perdure.v1.ResolveStepResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ResolveStep"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ResolveStepRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ResolveStepResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("ResolveStep"))
              .build();
        }
      }
    }
    return getResolveStepMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.UpdateStepOptionsRequest,
      io.perdure.v1.UpdateStepOptionsResponse> getUpdateStepOptionsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "UpdateStepOptions",
      requestType = io.perdure.v1.UpdateStepOptionsRequest.class,
      responseType = io.perdure.v1.UpdateStepOptionsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.UpdateStepOptionsRequest,
      io.perdure.v1.UpdateStepOptionsResponse> getUpdateStepOptionsMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.UpdateStepOptionsRequest, io.perdure.v1.UpdateStepOptionsResponse> getUpdateStepOptionsMethod;
    if ((getUpdateStepOptionsMethod = AdminServiceGrpc.getUpdateStepOptionsMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getUpdateStepOptionsMethod = AdminServiceGrpc.getUpdateStepOptionsMethod) == null) {
          AdminServiceGrpc.getUpdateStepOptionsMethod = getUpdateStepOptionsMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.UpdateStepOptionsRequest, io.perdure.v1.UpdateStepOptionsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "UpdateStepOptions"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.UpdateStepOptionsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.UpdateStepOptionsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("UpdateStepOptions"))
              .build();
        }
      }
    }
    return getUpdateStepOptionsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ExportWorkflowRequest,
      io.perdure.v1.ExportWorkflowResponse> getExportWorkflowMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ExportWorkflow",
      requestType = io.perdure.v1.ExportWorkflowRequest.class,
      responseType = io.perdure.v1.ExportWorkflowResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ExportWorkflowRequest,
      io.perdure.v1.ExportWorkflowResponse> getExportWorkflowMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ExportWorkflowRequest, io.perdure.v1.ExportWorkflowResponse> getExportWorkflowMethod;
    if ((getExportWorkflowMethod = AdminServiceGrpc.getExportWorkflowMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getExportWorkflowMethod = AdminServiceGrpc.getExportWorkflowMethod) == null) {
          AdminServiceGrpc.getExportWorkflowMethod = getExportWorkflowMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ExportWorkflowRequest, io.perdure.v1.ExportWorkflowResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ExportWorkflow"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ExportWorkflowRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ExportWorkflowResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("ExportWorkflow"))
              .build();
        }
      }
    }
    return getExportWorkflowMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ImportWorkflowRequest,
      io.perdure.v1.ImportWorkflowResponse> getImportWorkflowMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ImportWorkflow",
      requestType = io.perdure.v1.ImportWorkflowRequest.class,
      responseType = io.perdure.v1.ImportWorkflowResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.CLIENT_STREAMING)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ImportWorkflowRequest,
      io.perdure.v1.ImportWorkflowResponse> getImportWorkflowMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ImportWorkflowRequest, io.perdure.v1.ImportWorkflowResponse> getImportWorkflowMethod;
    if ((getImportWorkflowMethod = AdminServiceGrpc.getImportWorkflowMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getImportWorkflowMethod = AdminServiceGrpc.getImportWorkflowMethod) == null) {
          AdminServiceGrpc.getImportWorkflowMethod = getImportWorkflowMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ImportWorkflowRequest, io.perdure.v1.ImportWorkflowResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.CLIENT_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ImportWorkflow"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ImportWorkflowRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ImportWorkflowResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("ImportWorkflow"))
              .build();
        }
      }
    }
    return getImportWorkflowMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.StartBatchRequest,
      io.perdure.v1.StartBatchResponse> getStartBatchMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "StartBatch",
      requestType = io.perdure.v1.StartBatchRequest.class,
      responseType = io.perdure.v1.StartBatchResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.StartBatchRequest,
      io.perdure.v1.StartBatchResponse> getStartBatchMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.StartBatchRequest, io.perdure.v1.StartBatchResponse> getStartBatchMethod;
    if ((getStartBatchMethod = AdminServiceGrpc.getStartBatchMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getStartBatchMethod = AdminServiceGrpc.getStartBatchMethod) == null) {
          AdminServiceGrpc.getStartBatchMethod = getStartBatchMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.StartBatchRequest, io.perdure.v1.StartBatchResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "StartBatch"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.StartBatchRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.StartBatchResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("StartBatch"))
              .build();
        }
      }
    }
    return getStartBatchMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.GetBatchRequest,
      io.perdure.v1.GetBatchResponse> getGetBatchMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetBatch",
      requestType = io.perdure.v1.GetBatchRequest.class,
      responseType = io.perdure.v1.GetBatchResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.GetBatchRequest,
      io.perdure.v1.GetBatchResponse> getGetBatchMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.GetBatchRequest, io.perdure.v1.GetBatchResponse> getGetBatchMethod;
    if ((getGetBatchMethod = AdminServiceGrpc.getGetBatchMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getGetBatchMethod = AdminServiceGrpc.getGetBatchMethod) == null) {
          AdminServiceGrpc.getGetBatchMethod = getGetBatchMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.GetBatchRequest, io.perdure.v1.GetBatchResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetBatch"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.GetBatchRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.GetBatchResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("GetBatch"))
              .build();
        }
      }
    }
    return getGetBatchMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ListBatchesRequest,
      io.perdure.v1.ListBatchesResponse> getListBatchesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListBatches",
      requestType = io.perdure.v1.ListBatchesRequest.class,
      responseType = io.perdure.v1.ListBatchesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ListBatchesRequest,
      io.perdure.v1.ListBatchesResponse> getListBatchesMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ListBatchesRequest, io.perdure.v1.ListBatchesResponse> getListBatchesMethod;
    if ((getListBatchesMethod = AdminServiceGrpc.getListBatchesMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getListBatchesMethod = AdminServiceGrpc.getListBatchesMethod) == null) {
          AdminServiceGrpc.getListBatchesMethod = getListBatchesMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ListBatchesRequest, io.perdure.v1.ListBatchesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListBatches"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListBatchesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListBatchesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("ListBatches"))
              .build();
        }
      }
    }
    return getListBatchesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.StopBatchRequest,
      io.perdure.v1.StopBatchResponse> getStopBatchMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "StopBatch",
      requestType = io.perdure.v1.StopBatchRequest.class,
      responseType = io.perdure.v1.StopBatchResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.StopBatchRequest,
      io.perdure.v1.StopBatchResponse> getStopBatchMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.StopBatchRequest, io.perdure.v1.StopBatchResponse> getStopBatchMethod;
    if ((getStopBatchMethod = AdminServiceGrpc.getStopBatchMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getStopBatchMethod = AdminServiceGrpc.getStopBatchMethod) == null) {
          AdminServiceGrpc.getStopBatchMethod = getStopBatchMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.StopBatchRequest, io.perdure.v1.StopBatchResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "StopBatch"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.StopBatchRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.StopBatchResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("StopBatch"))
              .build();
        }
      }
    }
    return getStopBatchMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.PurgeWorkflowsRequest,
      io.perdure.v1.PurgeWorkflowsResponse> getPurgeWorkflowsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PurgeWorkflows",
      requestType = io.perdure.v1.PurgeWorkflowsRequest.class,
      responseType = io.perdure.v1.PurgeWorkflowsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.PurgeWorkflowsRequest,
      io.perdure.v1.PurgeWorkflowsResponse> getPurgeWorkflowsMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.PurgeWorkflowsRequest, io.perdure.v1.PurgeWorkflowsResponse> getPurgeWorkflowsMethod;
    if ((getPurgeWorkflowsMethod = AdminServiceGrpc.getPurgeWorkflowsMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getPurgeWorkflowsMethod = AdminServiceGrpc.getPurgeWorkflowsMethod) == null) {
          AdminServiceGrpc.getPurgeWorkflowsMethod = getPurgeWorkflowsMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.PurgeWorkflowsRequest, io.perdure.v1.PurgeWorkflowsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PurgeWorkflows"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.PurgeWorkflowsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.PurgeWorkflowsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("PurgeWorkflows"))
              .build();
        }
      }
    }
    return getPurgeWorkflowsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.RedactPayloadsRequest,
      io.perdure.v1.RedactPayloadsResponse> getRedactPayloadsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RedactPayloads",
      requestType = io.perdure.v1.RedactPayloadsRequest.class,
      responseType = io.perdure.v1.RedactPayloadsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.RedactPayloadsRequest,
      io.perdure.v1.RedactPayloadsResponse> getRedactPayloadsMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.RedactPayloadsRequest, io.perdure.v1.RedactPayloadsResponse> getRedactPayloadsMethod;
    if ((getRedactPayloadsMethod = AdminServiceGrpc.getRedactPayloadsMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getRedactPayloadsMethod = AdminServiceGrpc.getRedactPayloadsMethod) == null) {
          AdminServiceGrpc.getRedactPayloadsMethod = getRedactPayloadsMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.RedactPayloadsRequest, io.perdure.v1.RedactPayloadsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RedactPayloads"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.RedactPayloadsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.RedactPayloadsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("RedactPayloads"))
              .build();
        }
      }
    }
    return getRedactPayloadsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.PutScheduleRequest,
      io.perdure.v1.PutScheduleResponse> getPutScheduleMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PutSchedule",
      requestType = io.perdure.v1.PutScheduleRequest.class,
      responseType = io.perdure.v1.PutScheduleResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.PutScheduleRequest,
      io.perdure.v1.PutScheduleResponse> getPutScheduleMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.PutScheduleRequest, io.perdure.v1.PutScheduleResponse> getPutScheduleMethod;
    if ((getPutScheduleMethod = AdminServiceGrpc.getPutScheduleMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getPutScheduleMethod = AdminServiceGrpc.getPutScheduleMethod) == null) {
          AdminServiceGrpc.getPutScheduleMethod = getPutScheduleMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.PutScheduleRequest, io.perdure.v1.PutScheduleResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PutSchedule"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.PutScheduleRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.PutScheduleResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("PutSchedule"))
              .build();
        }
      }
    }
    return getPutScheduleMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ListSchedulesRequest,
      io.perdure.v1.ListSchedulesResponse> getListSchedulesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListSchedules",
      requestType = io.perdure.v1.ListSchedulesRequest.class,
      responseType = io.perdure.v1.ListSchedulesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ListSchedulesRequest,
      io.perdure.v1.ListSchedulesResponse> getListSchedulesMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ListSchedulesRequest, io.perdure.v1.ListSchedulesResponse> getListSchedulesMethod;
    if ((getListSchedulesMethod = AdminServiceGrpc.getListSchedulesMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getListSchedulesMethod = AdminServiceGrpc.getListSchedulesMethod) == null) {
          AdminServiceGrpc.getListSchedulesMethod = getListSchedulesMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ListSchedulesRequest, io.perdure.v1.ListSchedulesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListSchedules"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListSchedulesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListSchedulesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("ListSchedules"))
              .build();
        }
      }
    }
    return getListSchedulesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.TriggerScheduleRequest,
      io.perdure.v1.TriggerScheduleResponse> getTriggerScheduleMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "TriggerSchedule",
      requestType = io.perdure.v1.TriggerScheduleRequest.class,
      responseType = io.perdure.v1.TriggerScheduleResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.TriggerScheduleRequest,
      io.perdure.v1.TriggerScheduleResponse> getTriggerScheduleMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.TriggerScheduleRequest, io.perdure.v1.TriggerScheduleResponse> getTriggerScheduleMethod;
    if ((getTriggerScheduleMethod = AdminServiceGrpc.getTriggerScheduleMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getTriggerScheduleMethod = AdminServiceGrpc.getTriggerScheduleMethod) == null) {
          AdminServiceGrpc.getTriggerScheduleMethod = getTriggerScheduleMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.TriggerScheduleRequest, io.perdure.v1.TriggerScheduleResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "TriggerSchedule"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.TriggerScheduleRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.TriggerScheduleResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("TriggerSchedule"))
              .build();
        }
      }
    }
    return getTriggerScheduleMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.DeleteScheduleRequest,
      io.perdure.v1.DeleteScheduleResponse> getDeleteScheduleMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteSchedule",
      requestType = io.perdure.v1.DeleteScheduleRequest.class,
      responseType = io.perdure.v1.DeleteScheduleResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.DeleteScheduleRequest,
      io.perdure.v1.DeleteScheduleResponse> getDeleteScheduleMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.DeleteScheduleRequest, io.perdure.v1.DeleteScheduleResponse> getDeleteScheduleMethod;
    if ((getDeleteScheduleMethod = AdminServiceGrpc.getDeleteScheduleMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getDeleteScheduleMethod = AdminServiceGrpc.getDeleteScheduleMethod) == null) {
          AdminServiceGrpc.getDeleteScheduleMethod = getDeleteScheduleMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.DeleteScheduleRequest, io.perdure.v1.DeleteScheduleResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteSchedule"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.DeleteScheduleRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.DeleteScheduleResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("DeleteSchedule"))
              .build();
        }
      }
    }
    return getDeleteScheduleMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.PutNamespaceRequest,
      io.perdure.v1.PutNamespaceResponse> getPutNamespaceMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PutNamespace",
      requestType = io.perdure.v1.PutNamespaceRequest.class,
      responseType = io.perdure.v1.PutNamespaceResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.PutNamespaceRequest,
      io.perdure.v1.PutNamespaceResponse> getPutNamespaceMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.PutNamespaceRequest, io.perdure.v1.PutNamespaceResponse> getPutNamespaceMethod;
    if ((getPutNamespaceMethod = AdminServiceGrpc.getPutNamespaceMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getPutNamespaceMethod = AdminServiceGrpc.getPutNamespaceMethod) == null) {
          AdminServiceGrpc.getPutNamespaceMethod = getPutNamespaceMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.PutNamespaceRequest, io.perdure.v1.PutNamespaceResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PutNamespace"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.PutNamespaceRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.PutNamespaceResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("PutNamespace"))
              .build();
        }
      }
    }
    return getPutNamespaceMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ListNamespacesRequest,
      io.perdure.v1.ListNamespacesResponse> getListNamespacesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListNamespaces",
      requestType = io.perdure.v1.ListNamespacesRequest.class,
      responseType = io.perdure.v1.ListNamespacesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ListNamespacesRequest,
      io.perdure.v1.ListNamespacesResponse> getListNamespacesMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ListNamespacesRequest, io.perdure.v1.ListNamespacesResponse> getListNamespacesMethod;
    if ((getListNamespacesMethod = AdminServiceGrpc.getListNamespacesMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getListNamespacesMethod = AdminServiceGrpc.getListNamespacesMethod) == null) {
          AdminServiceGrpc.getListNamespacesMethod = getListNamespacesMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ListNamespacesRequest, io.perdure.v1.ListNamespacesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListNamespaces"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListNamespacesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListNamespacesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("ListNamespaces"))
              .build();
        }
      }
    }
    return getListNamespacesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ListAuditRecordsRequest,
      io.perdure.v1.ListAuditRecordsResponse> getListAuditRecordsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListAuditRecords",
      requestType = io.perdure.v1.ListAuditRecordsRequest.class,
      responseType = io.perdure.v1.ListAuditRecordsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ListAuditRecordsRequest,
      io.perdure.v1.ListAuditRecordsResponse> getListAuditRecordsMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ListAuditRecordsRequest, io.perdure.v1.ListAuditRecordsResponse> getListAuditRecordsMethod;
    if ((getListAuditRecordsMethod = AdminServiceGrpc.getListAuditRecordsMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getListAuditRecordsMethod = AdminServiceGrpc.getListAuditRecordsMethod) == null) {
          AdminServiceGrpc.getListAuditRecordsMethod = getListAuditRecordsMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ListAuditRecordsRequest, io.perdure.v1.ListAuditRecordsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListAuditRecords"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListAuditRecordsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListAuditRecordsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("ListAuditRecords"))
              .build();
        }
      }
    }
    return getListAuditRecordsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.GetServerInfoRequest,
      io.perdure.v1.GetServerInfoResponse> getGetServerInfoMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetServerInfo",
      requestType = io.perdure.v1.GetServerInfoRequest.class,
      responseType = io.perdure.v1.GetServerInfoResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.GetServerInfoRequest,
      io.perdure.v1.GetServerInfoResponse> getGetServerInfoMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.GetServerInfoRequest, io.perdure.v1.GetServerInfoResponse> getGetServerInfoMethod;
    if ((getGetServerInfoMethod = AdminServiceGrpc.getGetServerInfoMethod) == null) {
      synchronized (AdminServiceGrpc.class) {
        if ((getGetServerInfoMethod = AdminServiceGrpc.getGetServerInfoMethod) == null) {
          AdminServiceGrpc.getGetServerInfoMethod = getGetServerInfoMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.GetServerInfoRequest, io.perdure.v1.GetServerInfoResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetServerInfo"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.GetServerInfoRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.GetServerInfoResponse.getDefaultInstance()))
              .setSchemaDescriptor(new AdminServiceMethodDescriptorSupplier("GetServerInfo"))
              .build();
        }
      }
    }
    return getGetServerInfoMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static AdminServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AdminServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AdminServiceStub>() {
        @java.lang.Override
        public AdminServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AdminServiceStub(channel, callOptions);
        }
      };
    return AdminServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static AdminServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AdminServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AdminServiceBlockingV2Stub>() {
        @java.lang.Override
        public AdminServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AdminServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return AdminServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static AdminServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AdminServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AdminServiceBlockingStub>() {
        @java.lang.Override
        public AdminServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AdminServiceBlockingStub(channel, callOptions);
        }
      };
    return AdminServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static AdminServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<AdminServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<AdminServiceFutureStub>() {
        @java.lang.Override
        public AdminServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new AdminServiceFutureStub(channel, callOptions);
        }
      };
    return AdminServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Definitions, shared limits, operations on many workflows, and the server itself.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Checks and stores a definition; the same content again is no change. All faults are named at once.
     * </pre>
     */
    default void registerDefinition(io.perdure.v1.RegisterDefinitionRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.RegisterDefinitionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRegisterDefinitionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Makes a registered definition the one that new starts of its type use.
     * </pre>
     */
    default void setActiveDefinition(io.perdure.v1.SetActiveDefinitionRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.SetActiveDefinitionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSetActiveDefinitionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Changes policies of a registered definition, also for its open workflows.
     * </pre>
     */
    default void updatePolicy(io.perdure.v1.UpdatePolicyRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.UpdatePolicyResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getUpdatePolicyMethod(), responseObserver);
    }

    /**
     * <pre>
     * One definition. Unknown: DEFINITION_NOT_FOUND.
     * </pre>
     */
    default void getDefinition(io.perdure.v1.GetDefinitionRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.GetDefinitionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetDefinitionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Definitions, in pages.
     * </pre>
     */
    default void listDefinitions(io.perdure.v1.ListDefinitionsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListDefinitionsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListDefinitionsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Removes a definition that is not active and has no kept workflow; else DEFINITION_IN_USE.
     * </pre>
     */
    default void deleteDefinition(io.perdure.v1.DeleteDefinitionRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.DeleteDefinitionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteDefinitionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Runs a definition in memory with outcomes told in advance, and tells what happens. Stores nothing.
     * </pre>
     */
    default void testDefinition(io.perdure.v1.TestDefinitionRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.TestDefinitionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getTestDefinitionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Grants no more claims in workflows of a definition. Starts and signals are still accepted.
     * </pre>
     */
    default void pauseDefinition(io.perdure.v1.PauseDefinitionRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.PauseDefinitionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPauseDefinitionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Ends such a pause.
     * </pre>
     */
    default void resumeDefinition(io.perdure.v1.ResumeDefinitionRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ResumeDefinitionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getResumeDefinitionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Moves open workflows of one definition to another, in the background. Refuses by default what would lose something.
     * </pre>
     */
    default void migrateWorkflows(io.perdure.v1.MigrateWorkflowsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.MigrateWorkflowsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getMigrateWorkflowsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Makes or changes a resource of permits; acts at once.
     * </pre>
     */
    default void putResource(io.perdure.v1.PutResourceRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.PutResourceResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPutResourceMethod(), responseObserver);
    }

    /**
     * <pre>
     * Resources with their use, in pages.
     * </pre>
     */
    default void listResources(io.perdure.v1.ListResourcesRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListResourcesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListResourcesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Removes a resource. In use: RESOURCE_IN_USE.
     * </pre>
     */
    default void deleteResource(io.perdure.v1.DeleteResourceRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.DeleteResourceResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteResourceMethod(), responseObserver);
    }

    /**
     * <pre>
     * Queues with what is ready, running and throttled, and who serves them.
     * </pre>
     */
    default void listQueues(io.perdure.v1.ListQueuesRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListQueuesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListQueuesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Worker sessions, in pages.
     * </pre>
     */
    default void listWorkers(io.perdure.v1.ListWorkersRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListWorkersResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListWorkersMethod(), responseObserver);
    }

    /**
     * <pre>
     * Settles, retries or passes a step by a person's word.
     * </pre>
     */
    default void resolveStep(io.perdure.v1.ResolveStepRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ResolveStepResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getResolveStepMethod(), responseObserver);
    }

    /**
     * <pre>
     * Changes options of one step of one workflow.
     * </pre>
     */
    default void updateStepOptions(io.perdure.v1.UpdateStepOptionsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.UpdateStepOptionsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getUpdateStepOptionsMethod(), responseObserver);
    }

    /**
     * <pre>
     * One workflow with all that belongs to it, as a file in chunks, for a report of a fault.
     * </pre>
     */
    default void exportWorkflow(io.perdure.v1.ExportWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ExportWorkflowResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getExportWorkflowMethod(), responseObserver);
    }

    /**
     * <pre>
     * Puts an exported workflow into a namespace, paused. One with open children: EXPORT_INVALID; they are workflows of their
     * own, which the file does not hold, and the copy would start them a second time.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<io.perdure.v1.ImportWorkflowRequest> importWorkflow(
        io.grpc.stub.StreamObserver<io.perdure.v1.ImportWorkflowResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getImportWorkflowMethod(), responseObserver);
    }

    /**
     * <pre>
     * Does one thing to many workflows, in the background.
     * </pre>
     */
    default void startBatch(io.perdure.v1.StartBatchRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.StartBatchResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getStartBatchMethod(), responseObserver);
    }

    /**
     * <pre>
     * One batch. Unknown: BATCH_NOT_FOUND.
     * </pre>
     */
    default void getBatch(io.perdure.v1.GetBatchRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.GetBatchResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetBatchMethod(), responseObserver);
    }

    /**
     * <pre>
     * Batches, newest first.
     * </pre>
     */
    default void listBatches(io.perdure.v1.ListBatchesRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListBatchesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListBatchesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Stops a batch; what is done stays done. Ended: BATCH_CLOSED.
     * </pre>
     */
    default void stopBatch(io.perdure.v1.StopBatchRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.StopBatchResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getStopBatchMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes ended workflows by filter, as a batch; open ones are left alone.
     * </pre>
     */
    default void purgeWorkflows(io.perdure.v1.PurgeWorkflowsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.PurgeWorkflowsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPurgeWorkflowsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Overwrites payloads with personal data for good; the workflows stay.
     * </pre>
     */
    default void redactPayloads(io.perdure.v1.RedactPayloadsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.RedactPayloadsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRedactPayloadsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Makes or changes a schedule.
     * </pre>
     */
    default void putSchedule(io.perdure.v1.PutScheduleRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.PutScheduleResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPutScheduleMethod(), responseObserver);
    }

    /**
     * <pre>
     * Schedules, in pages.
     * </pre>
     */
    default void listSchedules(io.perdure.v1.ListSchedulesRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListSchedulesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListSchedulesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Fires a schedule now.
     * </pre>
     */
    default void triggerSchedule(io.perdure.v1.TriggerScheduleRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.TriggerScheduleResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getTriggerScheduleMethod(), responseObserver);
    }

    /**
     * <pre>
     * Removes a schedule; workflows that it started go on.
     * </pre>
     */
    default void deleteSchedule(io.perdure.v1.DeleteScheduleRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.DeleteScheduleResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteScheduleMethod(), responseObserver);
    }

    /**
     * <pre>
     * Makes or changes a namespace.
     * </pre>
     */
    default void putNamespace(io.perdure.v1.PutNamespaceRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.PutNamespaceResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPutNamespaceMethod(), responseObserver);
    }

    /**
     * <pre>
     * Namespaces, in pages.
     * </pre>
     */
    default void listNamespaces(io.perdure.v1.ListNamespacesRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListNamespacesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListNamespacesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Who did what, newest first.
     * </pre>
     */
    default void listAuditRecords(io.perdure.v1.ListAuditRecordsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListAuditRecordsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListAuditRecordsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Version, limits, defaults and condition of the server that answers.
     * </pre>
     */
    default void getServerInfo(io.perdure.v1.GetServerInfoRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.GetServerInfoResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetServerInfoMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service AdminService.
   * <pre>
   * Definitions, shared limits, operations on many workflows, and the server itself.
   * </pre>
   */
  public static abstract class AdminServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return AdminServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service AdminService.
   * <pre>
   * Definitions, shared limits, operations on many workflows, and the server itself.
   * </pre>
   */
  public static final class AdminServiceStub
      extends io.grpc.stub.AbstractAsyncStub<AdminServiceStub> {
    private AdminServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AdminServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AdminServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Checks and stores a definition; the same content again is no change. All faults are named at once.
     * </pre>
     */
    public void registerDefinition(io.perdure.v1.RegisterDefinitionRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.RegisterDefinitionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRegisterDefinitionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Makes a registered definition the one that new starts of its type use.
     * </pre>
     */
    public void setActiveDefinition(io.perdure.v1.SetActiveDefinitionRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.SetActiveDefinitionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSetActiveDefinitionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Changes policies of a registered definition, also for its open workflows.
     * </pre>
     */
    public void updatePolicy(io.perdure.v1.UpdatePolicyRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.UpdatePolicyResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getUpdatePolicyMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * One definition. Unknown: DEFINITION_NOT_FOUND.
     * </pre>
     */
    public void getDefinition(io.perdure.v1.GetDefinitionRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.GetDefinitionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetDefinitionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Definitions, in pages.
     * </pre>
     */
    public void listDefinitions(io.perdure.v1.ListDefinitionsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListDefinitionsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListDefinitionsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Removes a definition that is not active and has no kept workflow; else DEFINITION_IN_USE.
     * </pre>
     */
    public void deleteDefinition(io.perdure.v1.DeleteDefinitionRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.DeleteDefinitionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteDefinitionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Runs a definition in memory with outcomes told in advance, and tells what happens. Stores nothing.
     * </pre>
     */
    public void testDefinition(io.perdure.v1.TestDefinitionRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.TestDefinitionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getTestDefinitionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Grants no more claims in workflows of a definition. Starts and signals are still accepted.
     * </pre>
     */
    public void pauseDefinition(io.perdure.v1.PauseDefinitionRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.PauseDefinitionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPauseDefinitionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Ends such a pause.
     * </pre>
     */
    public void resumeDefinition(io.perdure.v1.ResumeDefinitionRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ResumeDefinitionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getResumeDefinitionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Moves open workflows of one definition to another, in the background. Refuses by default what would lose something.
     * </pre>
     */
    public void migrateWorkflows(io.perdure.v1.MigrateWorkflowsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.MigrateWorkflowsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getMigrateWorkflowsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Makes or changes a resource of permits; acts at once.
     * </pre>
     */
    public void putResource(io.perdure.v1.PutResourceRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.PutResourceResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPutResourceMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Resources with their use, in pages.
     * </pre>
     */
    public void listResources(io.perdure.v1.ListResourcesRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListResourcesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListResourcesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Removes a resource. In use: RESOURCE_IN_USE.
     * </pre>
     */
    public void deleteResource(io.perdure.v1.DeleteResourceRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.DeleteResourceResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteResourceMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Queues with what is ready, running and throttled, and who serves them.
     * </pre>
     */
    public void listQueues(io.perdure.v1.ListQueuesRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListQueuesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListQueuesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Worker sessions, in pages.
     * </pre>
     */
    public void listWorkers(io.perdure.v1.ListWorkersRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListWorkersResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListWorkersMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Settles, retries or passes a step by a person's word.
     * </pre>
     */
    public void resolveStep(io.perdure.v1.ResolveStepRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ResolveStepResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getResolveStepMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Changes options of one step of one workflow.
     * </pre>
     */
    public void updateStepOptions(io.perdure.v1.UpdateStepOptionsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.UpdateStepOptionsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getUpdateStepOptionsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * One workflow with all that belongs to it, as a file in chunks, for a report of a fault.
     * </pre>
     */
    public void exportWorkflow(io.perdure.v1.ExportWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ExportWorkflowResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getExportWorkflowMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Puts an exported workflow into a namespace, paused. One with open children: EXPORT_INVALID; they are workflows of their
     * own, which the file does not hold, and the copy would start them a second time.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<io.perdure.v1.ImportWorkflowRequest> importWorkflow(
        io.grpc.stub.StreamObserver<io.perdure.v1.ImportWorkflowResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncClientStreamingCall(
          getChannel().newCall(getImportWorkflowMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * Does one thing to many workflows, in the background.
     * </pre>
     */
    public void startBatch(io.perdure.v1.StartBatchRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.StartBatchResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getStartBatchMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * One batch. Unknown: BATCH_NOT_FOUND.
     * </pre>
     */
    public void getBatch(io.perdure.v1.GetBatchRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.GetBatchResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetBatchMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Batches, newest first.
     * </pre>
     */
    public void listBatches(io.perdure.v1.ListBatchesRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListBatchesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListBatchesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Stops a batch; what is done stays done. Ended: BATCH_CLOSED.
     * </pre>
     */
    public void stopBatch(io.perdure.v1.StopBatchRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.StopBatchResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getStopBatchMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes ended workflows by filter, as a batch; open ones are left alone.
     * </pre>
     */
    public void purgeWorkflows(io.perdure.v1.PurgeWorkflowsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.PurgeWorkflowsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPurgeWorkflowsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Overwrites payloads with personal data for good; the workflows stay.
     * </pre>
     */
    public void redactPayloads(io.perdure.v1.RedactPayloadsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.RedactPayloadsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRedactPayloadsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Makes or changes a schedule.
     * </pre>
     */
    public void putSchedule(io.perdure.v1.PutScheduleRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.PutScheduleResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPutScheduleMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Schedules, in pages.
     * </pre>
     */
    public void listSchedules(io.perdure.v1.ListSchedulesRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListSchedulesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListSchedulesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Fires a schedule now.
     * </pre>
     */
    public void triggerSchedule(io.perdure.v1.TriggerScheduleRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.TriggerScheduleResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getTriggerScheduleMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Removes a schedule; workflows that it started go on.
     * </pre>
     */
    public void deleteSchedule(io.perdure.v1.DeleteScheduleRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.DeleteScheduleResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteScheduleMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Makes or changes a namespace.
     * </pre>
     */
    public void putNamespace(io.perdure.v1.PutNamespaceRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.PutNamespaceResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPutNamespaceMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Namespaces, in pages.
     * </pre>
     */
    public void listNamespaces(io.perdure.v1.ListNamespacesRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListNamespacesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListNamespacesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Who did what, newest first.
     * </pre>
     */
    public void listAuditRecords(io.perdure.v1.ListAuditRecordsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListAuditRecordsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListAuditRecordsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Version, limits, defaults and condition of the server that answers.
     * </pre>
     */
    public void getServerInfo(io.perdure.v1.GetServerInfoRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.GetServerInfoResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetServerInfoMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service AdminService.
   * <pre>
   * Definitions, shared limits, operations on many workflows, and the server itself.
   * </pre>
   */
  public static final class AdminServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<AdminServiceBlockingV2Stub> {
    private AdminServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AdminServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AdminServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Checks and stores a definition; the same content again is no change. All faults are named at once.
     * </pre>
     */
    public io.perdure.v1.RegisterDefinitionResponse registerDefinition(io.perdure.v1.RegisterDefinitionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRegisterDefinitionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Makes a registered definition the one that new starts of its type use.
     * </pre>
     */
    public io.perdure.v1.SetActiveDefinitionResponse setActiveDefinition(io.perdure.v1.SetActiveDefinitionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSetActiveDefinitionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Changes policies of a registered definition, also for its open workflows.
     * </pre>
     */
    public io.perdure.v1.UpdatePolicyResponse updatePolicy(io.perdure.v1.UpdatePolicyRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getUpdatePolicyMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One definition. Unknown: DEFINITION_NOT_FOUND.
     * </pre>
     */
    public io.perdure.v1.GetDefinitionResponse getDefinition(io.perdure.v1.GetDefinitionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetDefinitionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Definitions, in pages.
     * </pre>
     */
    public io.perdure.v1.ListDefinitionsResponse listDefinitions(io.perdure.v1.ListDefinitionsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListDefinitionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a definition that is not active and has no kept workflow; else DEFINITION_IN_USE.
     * </pre>
     */
    public io.perdure.v1.DeleteDefinitionResponse deleteDefinition(io.perdure.v1.DeleteDefinitionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteDefinitionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Runs a definition in memory with outcomes told in advance, and tells what happens. Stores nothing.
     * </pre>
     */
    public io.perdure.v1.TestDefinitionResponse testDefinition(io.perdure.v1.TestDefinitionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getTestDefinitionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Grants no more claims in workflows of a definition. Starts and signals are still accepted.
     * </pre>
     */
    public io.perdure.v1.PauseDefinitionResponse pauseDefinition(io.perdure.v1.PauseDefinitionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPauseDefinitionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends such a pause.
     * </pre>
     */
    public io.perdure.v1.ResumeDefinitionResponse resumeDefinition(io.perdure.v1.ResumeDefinitionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getResumeDefinitionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Moves open workflows of one definition to another, in the background. Refuses by default what would lose something.
     * </pre>
     */
    public io.perdure.v1.MigrateWorkflowsResponse migrateWorkflows(io.perdure.v1.MigrateWorkflowsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getMigrateWorkflowsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Makes or changes a resource of permits; acts at once.
     * </pre>
     */
    public io.perdure.v1.PutResourceResponse putResource(io.perdure.v1.PutResourceRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPutResourceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Resources with their use, in pages.
     * </pre>
     */
    public io.perdure.v1.ListResourcesResponse listResources(io.perdure.v1.ListResourcesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListResourcesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a resource. In use: RESOURCE_IN_USE.
     * </pre>
     */
    public io.perdure.v1.DeleteResourceResponse deleteResource(io.perdure.v1.DeleteResourceRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteResourceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Queues with what is ready, running and throttled, and who serves them.
     * </pre>
     */
    public io.perdure.v1.ListQueuesResponse listQueues(io.perdure.v1.ListQueuesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListQueuesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Worker sessions, in pages.
     * </pre>
     */
    public io.perdure.v1.ListWorkersResponse listWorkers(io.perdure.v1.ListWorkersRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListWorkersMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Settles, retries or passes a step by a person's word.
     * </pre>
     */
    public io.perdure.v1.ResolveStepResponse resolveStep(io.perdure.v1.ResolveStepRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getResolveStepMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Changes options of one step of one workflow.
     * </pre>
     */
    public io.perdure.v1.UpdateStepOptionsResponse updateStepOptions(io.perdure.v1.UpdateStepOptionsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getUpdateStepOptionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One workflow with all that belongs to it, as a file in chunks, for a report of a fault.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, io.perdure.v1.ExportWorkflowResponse>
        exportWorkflow(io.perdure.v1.ExportWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getExportWorkflowMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Puts an exported workflow into a namespace, paused. One with open children: EXPORT_INVALID; they are workflows of their
     * own, which the file does not hold, and the copy would start them a second time.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<io.perdure.v1.ImportWorkflowRequest, io.perdure.v1.ImportWorkflowResponse>
        importWorkflow() {
      return io.grpc.stub.ClientCalls.blockingClientStreamingCall(
          getChannel(), getImportWorkflowMethod(), getCallOptions());
    }

    /**
     * <pre>
     * Does one thing to many workflows, in the background.
     * </pre>
     */
    public io.perdure.v1.StartBatchResponse startBatch(io.perdure.v1.StartBatchRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getStartBatchMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One batch. Unknown: BATCH_NOT_FOUND.
     * </pre>
     */
    public io.perdure.v1.GetBatchResponse getBatch(io.perdure.v1.GetBatchRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetBatchMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Batches, newest first.
     * </pre>
     */
    public io.perdure.v1.ListBatchesResponse listBatches(io.perdure.v1.ListBatchesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListBatchesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Stops a batch; what is done stays done. Ended: BATCH_CLOSED.
     * </pre>
     */
    public io.perdure.v1.StopBatchResponse stopBatch(io.perdure.v1.StopBatchRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getStopBatchMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes ended workflows by filter, as a batch; open ones are left alone.
     * </pre>
     */
    public io.perdure.v1.PurgeWorkflowsResponse purgeWorkflows(io.perdure.v1.PurgeWorkflowsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPurgeWorkflowsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Overwrites payloads with personal data for good; the workflows stay.
     * </pre>
     */
    public io.perdure.v1.RedactPayloadsResponse redactPayloads(io.perdure.v1.RedactPayloadsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRedactPayloadsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Makes or changes a schedule.
     * </pre>
     */
    public io.perdure.v1.PutScheduleResponse putSchedule(io.perdure.v1.PutScheduleRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPutScheduleMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Schedules, in pages.
     * </pre>
     */
    public io.perdure.v1.ListSchedulesResponse listSchedules(io.perdure.v1.ListSchedulesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListSchedulesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Fires a schedule now.
     * </pre>
     */
    public io.perdure.v1.TriggerScheduleResponse triggerSchedule(io.perdure.v1.TriggerScheduleRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getTriggerScheduleMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a schedule; workflows that it started go on.
     * </pre>
     */
    public io.perdure.v1.DeleteScheduleResponse deleteSchedule(io.perdure.v1.DeleteScheduleRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteScheduleMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Makes or changes a namespace.
     * </pre>
     */
    public io.perdure.v1.PutNamespaceResponse putNamespace(io.perdure.v1.PutNamespaceRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPutNamespaceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Namespaces, in pages.
     * </pre>
     */
    public io.perdure.v1.ListNamespacesResponse listNamespaces(io.perdure.v1.ListNamespacesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListNamespacesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Who did what, newest first.
     * </pre>
     */
    public io.perdure.v1.ListAuditRecordsResponse listAuditRecords(io.perdure.v1.ListAuditRecordsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListAuditRecordsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Version, limits, defaults and condition of the server that answers.
     * </pre>
     */
    public io.perdure.v1.GetServerInfoResponse getServerInfo(io.perdure.v1.GetServerInfoRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetServerInfoMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service AdminService.
   * <pre>
   * Definitions, shared limits, operations on many workflows, and the server itself.
   * </pre>
   */
  public static final class AdminServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<AdminServiceBlockingStub> {
    private AdminServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AdminServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AdminServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Checks and stores a definition; the same content again is no change. All faults are named at once.
     * </pre>
     */
    public io.perdure.v1.RegisterDefinitionResponse registerDefinition(io.perdure.v1.RegisterDefinitionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRegisterDefinitionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Makes a registered definition the one that new starts of its type use.
     * </pre>
     */
    public io.perdure.v1.SetActiveDefinitionResponse setActiveDefinition(io.perdure.v1.SetActiveDefinitionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSetActiveDefinitionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Changes policies of a registered definition, also for its open workflows.
     * </pre>
     */
    public io.perdure.v1.UpdatePolicyResponse updatePolicy(io.perdure.v1.UpdatePolicyRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getUpdatePolicyMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One definition. Unknown: DEFINITION_NOT_FOUND.
     * </pre>
     */
    public io.perdure.v1.GetDefinitionResponse getDefinition(io.perdure.v1.GetDefinitionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetDefinitionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Definitions, in pages.
     * </pre>
     */
    public io.perdure.v1.ListDefinitionsResponse listDefinitions(io.perdure.v1.ListDefinitionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListDefinitionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a definition that is not active and has no kept workflow; else DEFINITION_IN_USE.
     * </pre>
     */
    public io.perdure.v1.DeleteDefinitionResponse deleteDefinition(io.perdure.v1.DeleteDefinitionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteDefinitionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Runs a definition in memory with outcomes told in advance, and tells what happens. Stores nothing.
     * </pre>
     */
    public io.perdure.v1.TestDefinitionResponse testDefinition(io.perdure.v1.TestDefinitionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getTestDefinitionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Grants no more claims in workflows of a definition. Starts and signals are still accepted.
     * </pre>
     */
    public io.perdure.v1.PauseDefinitionResponse pauseDefinition(io.perdure.v1.PauseDefinitionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPauseDefinitionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends such a pause.
     * </pre>
     */
    public io.perdure.v1.ResumeDefinitionResponse resumeDefinition(io.perdure.v1.ResumeDefinitionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getResumeDefinitionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Moves open workflows of one definition to another, in the background. Refuses by default what would lose something.
     * </pre>
     */
    public io.perdure.v1.MigrateWorkflowsResponse migrateWorkflows(io.perdure.v1.MigrateWorkflowsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getMigrateWorkflowsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Makes or changes a resource of permits; acts at once.
     * </pre>
     */
    public io.perdure.v1.PutResourceResponse putResource(io.perdure.v1.PutResourceRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPutResourceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Resources with their use, in pages.
     * </pre>
     */
    public io.perdure.v1.ListResourcesResponse listResources(io.perdure.v1.ListResourcesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListResourcesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a resource. In use: RESOURCE_IN_USE.
     * </pre>
     */
    public io.perdure.v1.DeleteResourceResponse deleteResource(io.perdure.v1.DeleteResourceRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteResourceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Queues with what is ready, running and throttled, and who serves them.
     * </pre>
     */
    public io.perdure.v1.ListQueuesResponse listQueues(io.perdure.v1.ListQueuesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListQueuesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Worker sessions, in pages.
     * </pre>
     */
    public io.perdure.v1.ListWorkersResponse listWorkers(io.perdure.v1.ListWorkersRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListWorkersMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Settles, retries or passes a step by a person's word.
     * </pre>
     */
    public io.perdure.v1.ResolveStepResponse resolveStep(io.perdure.v1.ResolveStepRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getResolveStepMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Changes options of one step of one workflow.
     * </pre>
     */
    public io.perdure.v1.UpdateStepOptionsResponse updateStepOptions(io.perdure.v1.UpdateStepOptionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getUpdateStepOptionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One workflow with all that belongs to it, as a file in chunks, for a report of a fault.
     * </pre>
     */
    public java.util.Iterator<io.perdure.v1.ExportWorkflowResponse> exportWorkflow(
        io.perdure.v1.ExportWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getExportWorkflowMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Does one thing to many workflows, in the background.
     * </pre>
     */
    public io.perdure.v1.StartBatchResponse startBatch(io.perdure.v1.StartBatchRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getStartBatchMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One batch. Unknown: BATCH_NOT_FOUND.
     * </pre>
     */
    public io.perdure.v1.GetBatchResponse getBatch(io.perdure.v1.GetBatchRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetBatchMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Batches, newest first.
     * </pre>
     */
    public io.perdure.v1.ListBatchesResponse listBatches(io.perdure.v1.ListBatchesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListBatchesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Stops a batch; what is done stays done. Ended: BATCH_CLOSED.
     * </pre>
     */
    public io.perdure.v1.StopBatchResponse stopBatch(io.perdure.v1.StopBatchRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getStopBatchMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes ended workflows by filter, as a batch; open ones are left alone.
     * </pre>
     */
    public io.perdure.v1.PurgeWorkflowsResponse purgeWorkflows(io.perdure.v1.PurgeWorkflowsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPurgeWorkflowsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Overwrites payloads with personal data for good; the workflows stay.
     * </pre>
     */
    public io.perdure.v1.RedactPayloadsResponse redactPayloads(io.perdure.v1.RedactPayloadsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRedactPayloadsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Makes or changes a schedule.
     * </pre>
     */
    public io.perdure.v1.PutScheduleResponse putSchedule(io.perdure.v1.PutScheduleRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPutScheduleMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Schedules, in pages.
     * </pre>
     */
    public io.perdure.v1.ListSchedulesResponse listSchedules(io.perdure.v1.ListSchedulesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListSchedulesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Fires a schedule now.
     * </pre>
     */
    public io.perdure.v1.TriggerScheduleResponse triggerSchedule(io.perdure.v1.TriggerScheduleRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getTriggerScheduleMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a schedule; workflows that it started go on.
     * </pre>
     */
    public io.perdure.v1.DeleteScheduleResponse deleteSchedule(io.perdure.v1.DeleteScheduleRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteScheduleMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Makes or changes a namespace.
     * </pre>
     */
    public io.perdure.v1.PutNamespaceResponse putNamespace(io.perdure.v1.PutNamespaceRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPutNamespaceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Namespaces, in pages.
     * </pre>
     */
    public io.perdure.v1.ListNamespacesResponse listNamespaces(io.perdure.v1.ListNamespacesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListNamespacesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Who did what, newest first.
     * </pre>
     */
    public io.perdure.v1.ListAuditRecordsResponse listAuditRecords(io.perdure.v1.ListAuditRecordsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListAuditRecordsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Version, limits, defaults and condition of the server that answers.
     * </pre>
     */
    public io.perdure.v1.GetServerInfoResponse getServerInfo(io.perdure.v1.GetServerInfoRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetServerInfoMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service AdminService.
   * <pre>
   * Definitions, shared limits, operations on many workflows, and the server itself.
   * </pre>
   */
  public static final class AdminServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<AdminServiceFutureStub> {
    private AdminServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected AdminServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new AdminServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Checks and stores a definition; the same content again is no change. All faults are named at once.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.RegisterDefinitionResponse> registerDefinition(
        io.perdure.v1.RegisterDefinitionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRegisterDefinitionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Makes a registered definition the one that new starts of its type use.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.SetActiveDefinitionResponse> setActiveDefinition(
        io.perdure.v1.SetActiveDefinitionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSetActiveDefinitionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Changes policies of a registered definition, also for its open workflows.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.UpdatePolicyResponse> updatePolicy(
        io.perdure.v1.UpdatePolicyRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getUpdatePolicyMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * One definition. Unknown: DEFINITION_NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.GetDefinitionResponse> getDefinition(
        io.perdure.v1.GetDefinitionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetDefinitionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Definitions, in pages.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.ListDefinitionsResponse> listDefinitions(
        io.perdure.v1.ListDefinitionsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListDefinitionsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Removes a definition that is not active and has no kept workflow; else DEFINITION_IN_USE.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.DeleteDefinitionResponse> deleteDefinition(
        io.perdure.v1.DeleteDefinitionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteDefinitionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Runs a definition in memory with outcomes told in advance, and tells what happens. Stores nothing.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.TestDefinitionResponse> testDefinition(
        io.perdure.v1.TestDefinitionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getTestDefinitionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Grants no more claims in workflows of a definition. Starts and signals are still accepted.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.PauseDefinitionResponse> pauseDefinition(
        io.perdure.v1.PauseDefinitionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPauseDefinitionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Ends such a pause.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.ResumeDefinitionResponse> resumeDefinition(
        io.perdure.v1.ResumeDefinitionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getResumeDefinitionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Moves open workflows of one definition to another, in the background. Refuses by default what would lose something.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.MigrateWorkflowsResponse> migrateWorkflows(
        io.perdure.v1.MigrateWorkflowsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getMigrateWorkflowsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Makes or changes a resource of permits; acts at once.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.PutResourceResponse> putResource(
        io.perdure.v1.PutResourceRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPutResourceMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Resources with their use, in pages.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.ListResourcesResponse> listResources(
        io.perdure.v1.ListResourcesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListResourcesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Removes a resource. In use: RESOURCE_IN_USE.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.DeleteResourceResponse> deleteResource(
        io.perdure.v1.DeleteResourceRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteResourceMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Queues with what is ready, running and throttled, and who serves them.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.ListQueuesResponse> listQueues(
        io.perdure.v1.ListQueuesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListQueuesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Worker sessions, in pages.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.ListWorkersResponse> listWorkers(
        io.perdure.v1.ListWorkersRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListWorkersMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Settles, retries or passes a step by a person's word.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.ResolveStepResponse> resolveStep(
        io.perdure.v1.ResolveStepRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getResolveStepMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Changes options of one step of one workflow.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.UpdateStepOptionsResponse> updateStepOptions(
        io.perdure.v1.UpdateStepOptionsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getUpdateStepOptionsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Does one thing to many workflows, in the background.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.StartBatchResponse> startBatch(
        io.perdure.v1.StartBatchRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getStartBatchMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * One batch. Unknown: BATCH_NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.GetBatchResponse> getBatch(
        io.perdure.v1.GetBatchRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetBatchMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Batches, newest first.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.ListBatchesResponse> listBatches(
        io.perdure.v1.ListBatchesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListBatchesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Stops a batch; what is done stays done. Ended: BATCH_CLOSED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.StopBatchResponse> stopBatch(
        io.perdure.v1.StopBatchRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getStopBatchMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes ended workflows by filter, as a batch; open ones are left alone.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.PurgeWorkflowsResponse> purgeWorkflows(
        io.perdure.v1.PurgeWorkflowsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPurgeWorkflowsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Overwrites payloads with personal data for good; the workflows stay.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.RedactPayloadsResponse> redactPayloads(
        io.perdure.v1.RedactPayloadsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRedactPayloadsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Makes or changes a schedule.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.PutScheduleResponse> putSchedule(
        io.perdure.v1.PutScheduleRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPutScheduleMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Schedules, in pages.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.ListSchedulesResponse> listSchedules(
        io.perdure.v1.ListSchedulesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListSchedulesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Fires a schedule now.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.TriggerScheduleResponse> triggerSchedule(
        io.perdure.v1.TriggerScheduleRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getTriggerScheduleMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Removes a schedule; workflows that it started go on.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.DeleteScheduleResponse> deleteSchedule(
        io.perdure.v1.DeleteScheduleRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteScheduleMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Makes or changes a namespace.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.PutNamespaceResponse> putNamespace(
        io.perdure.v1.PutNamespaceRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPutNamespaceMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Namespaces, in pages.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.ListNamespacesResponse> listNamespaces(
        io.perdure.v1.ListNamespacesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListNamespacesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Who did what, newest first.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.ListAuditRecordsResponse> listAuditRecords(
        io.perdure.v1.ListAuditRecordsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListAuditRecordsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Version, limits, defaults and condition of the server that answers.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.GetServerInfoResponse> getServerInfo(
        io.perdure.v1.GetServerInfoRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetServerInfoMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_REGISTER_DEFINITION = 0;
  private static final int METHODID_SET_ACTIVE_DEFINITION = 1;
  private static final int METHODID_UPDATE_POLICY = 2;
  private static final int METHODID_GET_DEFINITION = 3;
  private static final int METHODID_LIST_DEFINITIONS = 4;
  private static final int METHODID_DELETE_DEFINITION = 5;
  private static final int METHODID_TEST_DEFINITION = 6;
  private static final int METHODID_PAUSE_DEFINITION = 7;
  private static final int METHODID_RESUME_DEFINITION = 8;
  private static final int METHODID_MIGRATE_WORKFLOWS = 9;
  private static final int METHODID_PUT_RESOURCE = 10;
  private static final int METHODID_LIST_RESOURCES = 11;
  private static final int METHODID_DELETE_RESOURCE = 12;
  private static final int METHODID_LIST_QUEUES = 13;
  private static final int METHODID_LIST_WORKERS = 14;
  private static final int METHODID_RESOLVE_STEP = 15;
  private static final int METHODID_UPDATE_STEP_OPTIONS = 16;
  private static final int METHODID_EXPORT_WORKFLOW = 17;
  private static final int METHODID_START_BATCH = 18;
  private static final int METHODID_GET_BATCH = 19;
  private static final int METHODID_LIST_BATCHES = 20;
  private static final int METHODID_STOP_BATCH = 21;
  private static final int METHODID_PURGE_WORKFLOWS = 22;
  private static final int METHODID_REDACT_PAYLOADS = 23;
  private static final int METHODID_PUT_SCHEDULE = 24;
  private static final int METHODID_LIST_SCHEDULES = 25;
  private static final int METHODID_TRIGGER_SCHEDULE = 26;
  private static final int METHODID_DELETE_SCHEDULE = 27;
  private static final int METHODID_PUT_NAMESPACE = 28;
  private static final int METHODID_LIST_NAMESPACES = 29;
  private static final int METHODID_LIST_AUDIT_RECORDS = 30;
  private static final int METHODID_GET_SERVER_INFO = 31;
  private static final int METHODID_IMPORT_WORKFLOW = 32;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_REGISTER_DEFINITION:
          serviceImpl.registerDefinition((io.perdure.v1.RegisterDefinitionRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.RegisterDefinitionResponse>) responseObserver);
          break;
        case METHODID_SET_ACTIVE_DEFINITION:
          serviceImpl.setActiveDefinition((io.perdure.v1.SetActiveDefinitionRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.SetActiveDefinitionResponse>) responseObserver);
          break;
        case METHODID_UPDATE_POLICY:
          serviceImpl.updatePolicy((io.perdure.v1.UpdatePolicyRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.UpdatePolicyResponse>) responseObserver);
          break;
        case METHODID_GET_DEFINITION:
          serviceImpl.getDefinition((io.perdure.v1.GetDefinitionRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.GetDefinitionResponse>) responseObserver);
          break;
        case METHODID_LIST_DEFINITIONS:
          serviceImpl.listDefinitions((io.perdure.v1.ListDefinitionsRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.ListDefinitionsResponse>) responseObserver);
          break;
        case METHODID_DELETE_DEFINITION:
          serviceImpl.deleteDefinition((io.perdure.v1.DeleteDefinitionRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.DeleteDefinitionResponse>) responseObserver);
          break;
        case METHODID_TEST_DEFINITION:
          serviceImpl.testDefinition((io.perdure.v1.TestDefinitionRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.TestDefinitionResponse>) responseObserver);
          break;
        case METHODID_PAUSE_DEFINITION:
          serviceImpl.pauseDefinition((io.perdure.v1.PauseDefinitionRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.PauseDefinitionResponse>) responseObserver);
          break;
        case METHODID_RESUME_DEFINITION:
          serviceImpl.resumeDefinition((io.perdure.v1.ResumeDefinitionRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.ResumeDefinitionResponse>) responseObserver);
          break;
        case METHODID_MIGRATE_WORKFLOWS:
          serviceImpl.migrateWorkflows((io.perdure.v1.MigrateWorkflowsRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.MigrateWorkflowsResponse>) responseObserver);
          break;
        case METHODID_PUT_RESOURCE:
          serviceImpl.putResource((io.perdure.v1.PutResourceRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.PutResourceResponse>) responseObserver);
          break;
        case METHODID_LIST_RESOURCES:
          serviceImpl.listResources((io.perdure.v1.ListResourcesRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.ListResourcesResponse>) responseObserver);
          break;
        case METHODID_DELETE_RESOURCE:
          serviceImpl.deleteResource((io.perdure.v1.DeleteResourceRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.DeleteResourceResponse>) responseObserver);
          break;
        case METHODID_LIST_QUEUES:
          serviceImpl.listQueues((io.perdure.v1.ListQueuesRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.ListQueuesResponse>) responseObserver);
          break;
        case METHODID_LIST_WORKERS:
          serviceImpl.listWorkers((io.perdure.v1.ListWorkersRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.ListWorkersResponse>) responseObserver);
          break;
        case METHODID_RESOLVE_STEP:
          serviceImpl.resolveStep((io.perdure.v1.ResolveStepRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.ResolveStepResponse>) responseObserver);
          break;
        case METHODID_UPDATE_STEP_OPTIONS:
          serviceImpl.updateStepOptions((io.perdure.v1.UpdateStepOptionsRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.UpdateStepOptionsResponse>) responseObserver);
          break;
        case METHODID_EXPORT_WORKFLOW:
          serviceImpl.exportWorkflow((io.perdure.v1.ExportWorkflowRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.ExportWorkflowResponse>) responseObserver);
          break;
        case METHODID_START_BATCH:
          serviceImpl.startBatch((io.perdure.v1.StartBatchRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.StartBatchResponse>) responseObserver);
          break;
        case METHODID_GET_BATCH:
          serviceImpl.getBatch((io.perdure.v1.GetBatchRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.GetBatchResponse>) responseObserver);
          break;
        case METHODID_LIST_BATCHES:
          serviceImpl.listBatches((io.perdure.v1.ListBatchesRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.ListBatchesResponse>) responseObserver);
          break;
        case METHODID_STOP_BATCH:
          serviceImpl.stopBatch((io.perdure.v1.StopBatchRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.StopBatchResponse>) responseObserver);
          break;
        case METHODID_PURGE_WORKFLOWS:
          serviceImpl.purgeWorkflows((io.perdure.v1.PurgeWorkflowsRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.PurgeWorkflowsResponse>) responseObserver);
          break;
        case METHODID_REDACT_PAYLOADS:
          serviceImpl.redactPayloads((io.perdure.v1.RedactPayloadsRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.RedactPayloadsResponse>) responseObserver);
          break;
        case METHODID_PUT_SCHEDULE:
          serviceImpl.putSchedule((io.perdure.v1.PutScheduleRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.PutScheduleResponse>) responseObserver);
          break;
        case METHODID_LIST_SCHEDULES:
          serviceImpl.listSchedules((io.perdure.v1.ListSchedulesRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.ListSchedulesResponse>) responseObserver);
          break;
        case METHODID_TRIGGER_SCHEDULE:
          serviceImpl.triggerSchedule((io.perdure.v1.TriggerScheduleRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.TriggerScheduleResponse>) responseObserver);
          break;
        case METHODID_DELETE_SCHEDULE:
          serviceImpl.deleteSchedule((io.perdure.v1.DeleteScheduleRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.DeleteScheduleResponse>) responseObserver);
          break;
        case METHODID_PUT_NAMESPACE:
          serviceImpl.putNamespace((io.perdure.v1.PutNamespaceRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.PutNamespaceResponse>) responseObserver);
          break;
        case METHODID_LIST_NAMESPACES:
          serviceImpl.listNamespaces((io.perdure.v1.ListNamespacesRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.ListNamespacesResponse>) responseObserver);
          break;
        case METHODID_LIST_AUDIT_RECORDS:
          serviceImpl.listAuditRecords((io.perdure.v1.ListAuditRecordsRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.ListAuditRecordsResponse>) responseObserver);
          break;
        case METHODID_GET_SERVER_INFO:
          serviceImpl.getServerInfo((io.perdure.v1.GetServerInfoRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.GetServerInfoResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_IMPORT_WORKFLOW:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.importWorkflow(
              (io.grpc.stub.StreamObserver<io.perdure.v1.ImportWorkflowResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getRegisterDefinitionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.RegisterDefinitionRequest,
              io.perdure.v1.RegisterDefinitionResponse>(
                service, METHODID_REGISTER_DEFINITION)))
        .addMethod(
          getSetActiveDefinitionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.SetActiveDefinitionRequest,
              io.perdure.v1.SetActiveDefinitionResponse>(
                service, METHODID_SET_ACTIVE_DEFINITION)))
        .addMethod(
          getUpdatePolicyMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.UpdatePolicyRequest,
              io.perdure.v1.UpdatePolicyResponse>(
                service, METHODID_UPDATE_POLICY)))
        .addMethod(
          getGetDefinitionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.GetDefinitionRequest,
              io.perdure.v1.GetDefinitionResponse>(
                service, METHODID_GET_DEFINITION)))
        .addMethod(
          getListDefinitionsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.ListDefinitionsRequest,
              io.perdure.v1.ListDefinitionsResponse>(
                service, METHODID_LIST_DEFINITIONS)))
        .addMethod(
          getDeleteDefinitionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.DeleteDefinitionRequest,
              io.perdure.v1.DeleteDefinitionResponse>(
                service, METHODID_DELETE_DEFINITION)))
        .addMethod(
          getTestDefinitionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.TestDefinitionRequest,
              io.perdure.v1.TestDefinitionResponse>(
                service, METHODID_TEST_DEFINITION)))
        .addMethod(
          getPauseDefinitionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.PauseDefinitionRequest,
              io.perdure.v1.PauseDefinitionResponse>(
                service, METHODID_PAUSE_DEFINITION)))
        .addMethod(
          getResumeDefinitionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.ResumeDefinitionRequest,
              io.perdure.v1.ResumeDefinitionResponse>(
                service, METHODID_RESUME_DEFINITION)))
        .addMethod(
          getMigrateWorkflowsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.MigrateWorkflowsRequest,
              io.perdure.v1.MigrateWorkflowsResponse>(
                service, METHODID_MIGRATE_WORKFLOWS)))
        .addMethod(
          getPutResourceMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.PutResourceRequest,
              io.perdure.v1.PutResourceResponse>(
                service, METHODID_PUT_RESOURCE)))
        .addMethod(
          getListResourcesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.ListResourcesRequest,
              io.perdure.v1.ListResourcesResponse>(
                service, METHODID_LIST_RESOURCES)))
        .addMethod(
          getDeleteResourceMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.DeleteResourceRequest,
              io.perdure.v1.DeleteResourceResponse>(
                service, METHODID_DELETE_RESOURCE)))
        .addMethod(
          getListQueuesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.ListQueuesRequest,
              io.perdure.v1.ListQueuesResponse>(
                service, METHODID_LIST_QUEUES)))
        .addMethod(
          getListWorkersMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.ListWorkersRequest,
              io.perdure.v1.ListWorkersResponse>(
                service, METHODID_LIST_WORKERS)))
        .addMethod(
          getResolveStepMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.ResolveStepRequest,
              io.perdure.v1.ResolveStepResponse>(
                service, METHODID_RESOLVE_STEP)))
        .addMethod(
          getUpdateStepOptionsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.UpdateStepOptionsRequest,
              io.perdure.v1.UpdateStepOptionsResponse>(
                service, METHODID_UPDATE_STEP_OPTIONS)))
        .addMethod(
          getExportWorkflowMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              io.perdure.v1.ExportWorkflowRequest,
              io.perdure.v1.ExportWorkflowResponse>(
                service, METHODID_EXPORT_WORKFLOW)))
        .addMethod(
          getImportWorkflowMethod(),
          io.grpc.stub.ServerCalls.asyncClientStreamingCall(
            new MethodHandlers<
              io.perdure.v1.ImportWorkflowRequest,
              io.perdure.v1.ImportWorkflowResponse>(
                service, METHODID_IMPORT_WORKFLOW)))
        .addMethod(
          getStartBatchMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.StartBatchRequest,
              io.perdure.v1.StartBatchResponse>(
                service, METHODID_START_BATCH)))
        .addMethod(
          getGetBatchMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.GetBatchRequest,
              io.perdure.v1.GetBatchResponse>(
                service, METHODID_GET_BATCH)))
        .addMethod(
          getListBatchesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.ListBatchesRequest,
              io.perdure.v1.ListBatchesResponse>(
                service, METHODID_LIST_BATCHES)))
        .addMethod(
          getStopBatchMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.StopBatchRequest,
              io.perdure.v1.StopBatchResponse>(
                service, METHODID_STOP_BATCH)))
        .addMethod(
          getPurgeWorkflowsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.PurgeWorkflowsRequest,
              io.perdure.v1.PurgeWorkflowsResponse>(
                service, METHODID_PURGE_WORKFLOWS)))
        .addMethod(
          getRedactPayloadsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.RedactPayloadsRequest,
              io.perdure.v1.RedactPayloadsResponse>(
                service, METHODID_REDACT_PAYLOADS)))
        .addMethod(
          getPutScheduleMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.PutScheduleRequest,
              io.perdure.v1.PutScheduleResponse>(
                service, METHODID_PUT_SCHEDULE)))
        .addMethod(
          getListSchedulesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.ListSchedulesRequest,
              io.perdure.v1.ListSchedulesResponse>(
                service, METHODID_LIST_SCHEDULES)))
        .addMethod(
          getTriggerScheduleMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.TriggerScheduleRequest,
              io.perdure.v1.TriggerScheduleResponse>(
                service, METHODID_TRIGGER_SCHEDULE)))
        .addMethod(
          getDeleteScheduleMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.DeleteScheduleRequest,
              io.perdure.v1.DeleteScheduleResponse>(
                service, METHODID_DELETE_SCHEDULE)))
        .addMethod(
          getPutNamespaceMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.PutNamespaceRequest,
              io.perdure.v1.PutNamespaceResponse>(
                service, METHODID_PUT_NAMESPACE)))
        .addMethod(
          getListNamespacesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.ListNamespacesRequest,
              io.perdure.v1.ListNamespacesResponse>(
                service, METHODID_LIST_NAMESPACES)))
        .addMethod(
          getListAuditRecordsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.ListAuditRecordsRequest,
              io.perdure.v1.ListAuditRecordsResponse>(
                service, METHODID_LIST_AUDIT_RECORDS)))
        .addMethod(
          getGetServerInfoMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.GetServerInfoRequest,
              io.perdure.v1.GetServerInfoResponse>(
                service, METHODID_GET_SERVER_INFO)))
        .build();
  }

  private static abstract class AdminServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    AdminServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.perdure.v1.AdminServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("AdminService");
    }
  }

  private static final class AdminServiceFileDescriptorSupplier
      extends AdminServiceBaseDescriptorSupplier {
    AdminServiceFileDescriptorSupplier() {}
  }

  private static final class AdminServiceMethodDescriptorSupplier
      extends AdminServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    AdminServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (AdminServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new AdminServiceFileDescriptorSupplier())
              .addMethod(getRegisterDefinitionMethod())
              .addMethod(getSetActiveDefinitionMethod())
              .addMethod(getUpdatePolicyMethod())
              .addMethod(getGetDefinitionMethod())
              .addMethod(getListDefinitionsMethod())
              .addMethod(getDeleteDefinitionMethod())
              .addMethod(getTestDefinitionMethod())
              .addMethod(getPauseDefinitionMethod())
              .addMethod(getResumeDefinitionMethod())
              .addMethod(getMigrateWorkflowsMethod())
              .addMethod(getPutResourceMethod())
              .addMethod(getListResourcesMethod())
              .addMethod(getDeleteResourceMethod())
              .addMethod(getListQueuesMethod())
              .addMethod(getListWorkersMethod())
              .addMethod(getResolveStepMethod())
              .addMethod(getUpdateStepOptionsMethod())
              .addMethod(getExportWorkflowMethod())
              .addMethod(getImportWorkflowMethod())
              .addMethod(getStartBatchMethod())
              .addMethod(getGetBatchMethod())
              .addMethod(getListBatchesMethod())
              .addMethod(getStopBatchMethod())
              .addMethod(getPurgeWorkflowsMethod())
              .addMethod(getRedactPayloadsMethod())
              .addMethod(getPutScheduleMethod())
              .addMethod(getListSchedulesMethod())
              .addMethod(getTriggerScheduleMethod())
              .addMethod(getDeleteScheduleMethod())
              .addMethod(getPutNamespaceMethod())
              .addMethod(getListNamespacesMethod())
              .addMethod(getListAuditRecordsMethod())
              .addMethod(getGetServerInfoMethod())
              .build();
        }
      }
    }
    return result;
  }
}
