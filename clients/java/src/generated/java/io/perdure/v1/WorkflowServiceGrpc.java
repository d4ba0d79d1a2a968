package io.perdure.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Starts workflows, talks to them and reads them.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class WorkflowServiceGrpc {

  private WorkflowServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "perdure.v1.WorkflowService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.StartWorkflowRequest,
      io.perdure.v1.StartWorkflowResponse> getStartWorkflowMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "StartWorkflow",
      requestType = io.perdure.v1.StartWorkflowRequest.class,
      responseType = io.perdure.v1.StartWorkflowResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.StartWorkflowRequest,
      io.perdure.v1.StartWorkflowResponse> getStartWorkflowMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.StartWorkflowRequest, io.perdure.v1.StartWorkflowResponse> getStartWorkflowMethod;
    if ((getStartWorkflowMethod = WorkflowServiceGrpc.getStartWorkflowMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getStartWorkflowMethod = WorkflowServiceGrpc.getStartWorkflowMethod) == null) {
          WorkflowServiceGrpc.getStartWorkflowMethod = getStartWorkflowMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.StartWorkflowRequest, io.perdure.v1.StartWorkflowResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "StartWorkflow"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.StartWorkflowRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.StartWorkflowResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("StartWorkflow"))
              .build();
        }
      }
    }
    return getStartWorkflowMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.StartWorkflowsRequest,
      io.perdure.v1.StartWorkflowsResponse> getStartWorkflowsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "StartWorkflows",
      requestType = io.perdure.v1.StartWorkflowsRequest.class,
      responseType = io.perdure.v1.StartWorkflowsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.StartWorkflowsRequest,
      io.perdure.v1.StartWorkflowsResponse> getStartWorkflowsMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.StartWorkflowsRequest, io.perdure.v1.StartWorkflowsResponse> getStartWorkflowsMethod;
    if ((getStartWorkflowsMethod = WorkflowServiceGrpc.getStartWorkflowsMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getStartWorkflowsMethod = WorkflowServiceGrpc.getStartWorkflowsMethod) == null) {
          WorkflowServiceGrpc.getStartWorkflowsMethod = getStartWorkflowsMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.StartWorkflowsRequest, io.perdure.v1.StartWorkflowsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "StartWorkflows"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.StartWorkflowsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.StartWorkflowsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("StartWorkflows"))
              .build();
        }
      }
    }
    return getStartWorkflowsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.SignalRequest,
      io.perdure.v1.SignalResponse> getSignalMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Signal",
      requestType = io.perdure.v1.SignalRequest.class,
      responseType = io.perdure.v1.SignalResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.SignalRequest,
      io.perdure.v1.SignalResponse> getSignalMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.SignalRequest, io.perdure.v1.SignalResponse> getSignalMethod;
    if ((getSignalMethod = WorkflowServiceGrpc.getSignalMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getSignalMethod = WorkflowServiceGrpc.getSignalMethod) == null) {
          WorkflowServiceGrpc.getSignalMethod = getSignalMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.SignalRequest, io.perdure.v1.SignalResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Signal"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.SignalRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.SignalResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("Signal"))
              .build();
        }
      }
    }
    return getSignalMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.WatchRequest,
      io.perdure.v1.WatchResponse> getWatchMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Watch",
      requestType = io.perdure.v1.WatchRequest.class,
      responseType = io.perdure.v1.WatchResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<io.perdure.v1.WatchRequest,
      io.perdure.v1.WatchResponse> getWatchMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.WatchRequest, io.perdure.v1.WatchResponse> getWatchMethod;
    if ((getWatchMethod = WorkflowServiceGrpc.getWatchMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getWatchMethod = WorkflowServiceGrpc.getWatchMethod) == null) {
          WorkflowServiceGrpc.getWatchMethod = getWatchMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.WatchRequest, io.perdure.v1.WatchResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Watch"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.WatchRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.WatchResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("Watch"))
              .build();
        }
      }
    }
    return getWatchMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.WatchWorkflowsRequest,
      io.perdure.v1.WatchWorkflowsResponse> getWatchWorkflowsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WatchWorkflows",
      requestType = io.perdure.v1.WatchWorkflowsRequest.class,
      responseType = io.perdure.v1.WatchWorkflowsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<io.perdure.v1.WatchWorkflowsRequest,
      io.perdure.v1.WatchWorkflowsResponse> getWatchWorkflowsMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.WatchWorkflowsRequest, io.perdure.v1.WatchWorkflowsResponse> getWatchWorkflowsMethod;
    if ((getWatchWorkflowsMethod = WorkflowServiceGrpc.getWatchWorkflowsMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getWatchWorkflowsMethod = WorkflowServiceGrpc.getWatchWorkflowsMethod) == null) {
          WorkflowServiceGrpc.getWatchWorkflowsMethod = getWatchWorkflowsMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.WatchWorkflowsRequest, io.perdure.v1.WatchWorkflowsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WatchWorkflows"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.WatchWorkflowsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.WatchWorkflowsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("WatchWorkflows"))
              .build();
        }
      }
    }
    return getWatchWorkflowsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.GetWorkflowRequest,
      io.perdure.v1.GetWorkflowResponse> getGetWorkflowMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetWorkflow",
      requestType = io.perdure.v1.GetWorkflowRequest.class,
      responseType = io.perdure.v1.GetWorkflowResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.GetWorkflowRequest,
      io.perdure.v1.GetWorkflowResponse> getGetWorkflowMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.GetWorkflowRequest, io.perdure.v1.GetWorkflowResponse> getGetWorkflowMethod;
    if ((getGetWorkflowMethod = WorkflowServiceGrpc.getGetWorkflowMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getGetWorkflowMethod = WorkflowServiceGrpc.getGetWorkflowMethod) == null) {
          WorkflowServiceGrpc.getGetWorkflowMethod = getGetWorkflowMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.GetWorkflowRequest, io.perdure.v1.GetWorkflowResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetWorkflow"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.GetWorkflowRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.GetWorkflowResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("GetWorkflow"))
              .build();
        }
      }
    }
    return getGetWorkflowMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.WaitForResultRequest,
      io.perdure.v1.WaitForResultResponse> getWaitForResultMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WaitForResult",
      requestType = io.perdure.v1.WaitForResultRequest.class,
      responseType = io.perdure.v1.WaitForResultResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.WaitForResultRequest,
      io.perdure.v1.WaitForResultResponse> getWaitForResultMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.WaitForResultRequest, io.perdure.v1.WaitForResultResponse> getWaitForResultMethod;
    if ((getWaitForResultMethod = WorkflowServiceGrpc.getWaitForResultMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getWaitForResultMethod = WorkflowServiceGrpc.getWaitForResultMethod) == null) {
          WorkflowServiceGrpc.getWaitForResultMethod = getWaitForResultMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.WaitForResultRequest, io.perdure.v1.WaitForResultResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WaitForResult"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.WaitForResultRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.WaitForResultResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("WaitForResult"))
              .build();
        }
      }
    }
    return getWaitForResultMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ListWorkflowsRequest,
      io.perdure.v1.ListWorkflowsResponse> getListWorkflowsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListWorkflows",
      requestType = io.perdure.v1.ListWorkflowsRequest.class,
      responseType = io.perdure.v1.ListWorkflowsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ListWorkflowsRequest,
      io.perdure.v1.ListWorkflowsResponse> getListWorkflowsMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ListWorkflowsRequest, io.perdure.v1.ListWorkflowsResponse> getListWorkflowsMethod;
    if ((getListWorkflowsMethod = WorkflowServiceGrpc.getListWorkflowsMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getListWorkflowsMethod = WorkflowServiceGrpc.getListWorkflowsMethod) == null) {
          WorkflowServiceGrpc.getListWorkflowsMethod = getListWorkflowsMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ListWorkflowsRequest, io.perdure.v1.ListWorkflowsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListWorkflows"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListWorkflowsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListWorkflowsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("ListWorkflows"))
              .build();
        }
      }
    }
    return getListWorkflowsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.CountWorkflowsRequest,
      io.perdure.v1.CountWorkflowsResponse> getCountWorkflowsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CountWorkflows",
      requestType = io.perdure.v1.CountWorkflowsRequest.class,
      responseType = io.perdure.v1.CountWorkflowsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.CountWorkflowsRequest,
      io.perdure.v1.CountWorkflowsResponse> getCountWorkflowsMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.CountWorkflowsRequest, io.perdure.v1.CountWorkflowsResponse> getCountWorkflowsMethod;
    if ((getCountWorkflowsMethod = WorkflowServiceGrpc.getCountWorkflowsMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getCountWorkflowsMethod = WorkflowServiceGrpc.getCountWorkflowsMethod) == null) {
          WorkflowServiceGrpc.getCountWorkflowsMethod = getCountWorkflowsMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.CountWorkflowsRequest, io.perdure.v1.CountWorkflowsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CountWorkflows"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.CountWorkflowsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.CountWorkflowsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("CountWorkflows"))
              .build();
        }
      }
    }
    return getCountWorkflowsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ListRoundsRequest,
      io.perdure.v1.ListRoundsResponse> getListRoundsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListRounds",
      requestType = io.perdure.v1.ListRoundsRequest.class,
      responseType = io.perdure.v1.ListRoundsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ListRoundsRequest,
      io.perdure.v1.ListRoundsResponse> getListRoundsMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ListRoundsRequest, io.perdure.v1.ListRoundsResponse> getListRoundsMethod;
    if ((getListRoundsMethod = WorkflowServiceGrpc.getListRoundsMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getListRoundsMethod = WorkflowServiceGrpc.getListRoundsMethod) == null) {
          WorkflowServiceGrpc.getListRoundsMethod = getListRoundsMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ListRoundsRequest, io.perdure.v1.ListRoundsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListRounds"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListRoundsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListRoundsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("ListRounds"))
              .build();
        }
      }
    }
    return getListRoundsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ListChildrenRequest,
      io.perdure.v1.ListChildrenResponse> getListChildrenMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListChildren",
      requestType = io.perdure.v1.ListChildrenRequest.class,
      responseType = io.perdure.v1.ListChildrenResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ListChildrenRequest,
      io.perdure.v1.ListChildrenResponse> getListChildrenMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ListChildrenRequest, io.perdure.v1.ListChildrenResponse> getListChildrenMethod;
    if ((getListChildrenMethod = WorkflowServiceGrpc.getListChildrenMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getListChildrenMethod = WorkflowServiceGrpc.getListChildrenMethod) == null) {
          WorkflowServiceGrpc.getListChildrenMethod = getListChildrenMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ListChildrenRequest, io.perdure.v1.ListChildrenResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListChildren"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListChildrenRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListChildrenResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("ListChildren"))
              .build();
        }
      }
    }
    return getListChildrenMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ListAttemptsRequest,
      io.perdure.v1.ListAttemptsResponse> getListAttemptsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListAttempts",
      requestType = io.perdure.v1.ListAttemptsRequest.class,
      responseType = io.perdure.v1.ListAttemptsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ListAttemptsRequest,
      io.perdure.v1.ListAttemptsResponse> getListAttemptsMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ListAttemptsRequest, io.perdure.v1.ListAttemptsResponse> getListAttemptsMethod;
    if ((getListAttemptsMethod = WorkflowServiceGrpc.getListAttemptsMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getListAttemptsMethod = WorkflowServiceGrpc.getListAttemptsMethod) == null) {
          WorkflowServiceGrpc.getListAttemptsMethod = getListAttemptsMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ListAttemptsRequest, io.perdure.v1.ListAttemptsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListAttempts"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListAttemptsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ListAttemptsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("ListAttempts"))
              .build();
        }
      }
    }
    return getListAttemptsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.FetchPayloadRequest,
      io.perdure.v1.FetchPayloadResponse> getFetchPayloadMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "FetchPayload",
      requestType = io.perdure.v1.FetchPayloadRequest.class,
      responseType = io.perdure.v1.FetchPayloadResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.FetchPayloadRequest,
      io.perdure.v1.FetchPayloadResponse> getFetchPayloadMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.FetchPayloadRequest, io.perdure.v1.FetchPayloadResponse> getFetchPayloadMethod;
    if ((getFetchPayloadMethod = WorkflowServiceGrpc.getFetchPayloadMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getFetchPayloadMethod = WorkflowServiceGrpc.getFetchPayloadMethod) == null) {
          WorkflowServiceGrpc.getFetchPayloadMethod = getFetchPayloadMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.FetchPayloadRequest, io.perdure.v1.FetchPayloadResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "FetchPayload"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.FetchPayloadRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.FetchPayloadResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("FetchPayload"))
              .build();
        }
      }
    }
    return getFetchPayloadMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ExplainWorkflowRequest,
      io.perdure.v1.ExplainWorkflowResponse> getExplainWorkflowMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ExplainWorkflow",
      requestType = io.perdure.v1.ExplainWorkflowRequest.class,
      responseType = io.perdure.v1.ExplainWorkflowResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ExplainWorkflowRequest,
      io.perdure.v1.ExplainWorkflowResponse> getExplainWorkflowMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ExplainWorkflowRequest, io.perdure.v1.ExplainWorkflowResponse> getExplainWorkflowMethod;
    if ((getExplainWorkflowMethod = WorkflowServiceGrpc.getExplainWorkflowMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getExplainWorkflowMethod = WorkflowServiceGrpc.getExplainWorkflowMethod) == null) {
          WorkflowServiceGrpc.getExplainWorkflowMethod = getExplainWorkflowMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ExplainWorkflowRequest, io.perdure.v1.ExplainWorkflowResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ExplainWorkflow"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ExplainWorkflowRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ExplainWorkflowResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("ExplainWorkflow"))
              .build();
        }
      }
    }
    return getExplainWorkflowMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.CancelWorkflowRequest,
      io.perdure.v1.CancelWorkflowResponse> getCancelWorkflowMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CancelWorkflow",
      requestType = io.perdure.v1.CancelWorkflowRequest.class,
      responseType = io.perdure.v1.CancelWorkflowResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.CancelWorkflowRequest,
      io.perdure.v1.CancelWorkflowResponse> getCancelWorkflowMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.CancelWorkflowRequest, io.perdure.v1.CancelWorkflowResponse> getCancelWorkflowMethod;
    if ((getCancelWorkflowMethod = WorkflowServiceGrpc.getCancelWorkflowMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getCancelWorkflowMethod = WorkflowServiceGrpc.getCancelWorkflowMethod) == null) {
          WorkflowServiceGrpc.getCancelWorkflowMethod = getCancelWorkflowMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.CancelWorkflowRequest, io.perdure.v1.CancelWorkflowResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CancelWorkflow"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.CancelWorkflowRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.CancelWorkflowResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("CancelWorkflow"))
              .build();
        }
      }
    }
    return getCancelWorkflowMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.TerminateWorkflowRequest,
      io.perdure.v1.TerminateWorkflowResponse> getTerminateWorkflowMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "TerminateWorkflow",
      requestType = io.perdure.v1.TerminateWorkflowRequest.class,
      responseType = io.perdure.v1.TerminateWorkflowResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.TerminateWorkflowRequest,
      io.perdure.v1.TerminateWorkflowResponse> getTerminateWorkflowMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.TerminateWorkflowRequest, io.perdure.v1.TerminateWorkflowResponse> getTerminateWorkflowMethod;
    if ((getTerminateWorkflowMethod = WorkflowServiceGrpc.getTerminateWorkflowMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getTerminateWorkflowMethod = WorkflowServiceGrpc.getTerminateWorkflowMethod) == null) {
          WorkflowServiceGrpc.getTerminateWorkflowMethod = getTerminateWorkflowMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.TerminateWorkflowRequest, io.perdure.v1.TerminateWorkflowResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "TerminateWorkflow"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.TerminateWorkflowRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.TerminateWorkflowResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("TerminateWorkflow"))
              .build();
        }
      }
    }
    return getTerminateWorkflowMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.PauseWorkflowRequest,
      io.perdure.v1.PauseWorkflowResponse> getPauseWorkflowMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PauseWorkflow",
      requestType = io.perdure.v1.PauseWorkflowRequest.class,
      responseType = io.perdure.v1.PauseWorkflowResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.PauseWorkflowRequest,
      io.perdure.v1.PauseWorkflowResponse> getPauseWorkflowMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.PauseWorkflowRequest, io.perdure.v1.PauseWorkflowResponse> getPauseWorkflowMethod;
    if ((getPauseWorkflowMethod = WorkflowServiceGrpc.getPauseWorkflowMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getPauseWorkflowMethod = WorkflowServiceGrpc.getPauseWorkflowMethod) == null) {
          WorkflowServiceGrpc.getPauseWorkflowMethod = getPauseWorkflowMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.PauseWorkflowRequest, io.perdure.v1.PauseWorkflowResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PauseWorkflow"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.PauseWorkflowRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.PauseWorkflowResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("PauseWorkflow"))
              .build();
        }
      }
    }
    return getPauseWorkflowMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ResumeWorkflowRequest,
      io.perdure.v1.ResumeWorkflowResponse> getResumeWorkflowMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ResumeWorkflow",
      requestType = io.perdure.v1.ResumeWorkflowRequest.class,
      responseType = io.perdure.v1.ResumeWorkflowResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ResumeWorkflowRequest,
      io.perdure.v1.ResumeWorkflowResponse> getResumeWorkflowMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ResumeWorkflowRequest, io.perdure.v1.ResumeWorkflowResponse> getResumeWorkflowMethod;
    if ((getResumeWorkflowMethod = WorkflowServiceGrpc.getResumeWorkflowMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getResumeWorkflowMethod = WorkflowServiceGrpc.getResumeWorkflowMethod) == null) {
          WorkflowServiceGrpc.getResumeWorkflowMethod = getResumeWorkflowMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ResumeWorkflowRequest, io.perdure.v1.ResumeWorkflowResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ResumeWorkflow"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ResumeWorkflowRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ResumeWorkflowResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("ResumeWorkflow"))
              .build();
        }
      }
    }
    return getResumeWorkflowMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ReplayWorkflowRequest,
      io.perdure.v1.ReplayWorkflowResponse> getReplayWorkflowMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReplayWorkflow",
      requestType = io.perdure.v1.ReplayWorkflowRequest.class,
      responseType = io.perdure.v1.ReplayWorkflowResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ReplayWorkflowRequest,
      io.perdure.v1.ReplayWorkflowResponse> getReplayWorkflowMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ReplayWorkflowRequest, io.perdure.v1.ReplayWorkflowResponse> getReplayWorkflowMethod;
    if ((getReplayWorkflowMethod = WorkflowServiceGrpc.getReplayWorkflowMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getReplayWorkflowMethod = WorkflowServiceGrpc.getReplayWorkflowMethod) == null) {
          WorkflowServiceGrpc.getReplayWorkflowMethod = getReplayWorkflowMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ReplayWorkflowRequest, io.perdure.v1.ReplayWorkflowResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReplayWorkflow"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ReplayWorkflowRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ReplayWorkflowResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("ReplayWorkflow"))
              .build();
        }
      }
    }
    return getReplayWorkflowMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.DeleteWorkflowRequest,
      io.perdure.v1.DeleteWorkflowResponse> getDeleteWorkflowMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteWorkflow",
      requestType = io.perdure.v1.DeleteWorkflowRequest.class,
      responseType = io.perdure.v1.DeleteWorkflowResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.DeleteWorkflowRequest,
      io.perdure.v1.DeleteWorkflowResponse> getDeleteWorkflowMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.DeleteWorkflowRequest, io.perdure.v1.DeleteWorkflowResponse> getDeleteWorkflowMethod;
    if ((getDeleteWorkflowMethod = WorkflowServiceGrpc.getDeleteWorkflowMethod) == null) {
      synchronized (WorkflowServiceGrpc.class) {
        if ((getDeleteWorkflowMethod = WorkflowServiceGrpc.getDeleteWorkflowMethod) == null) {
          WorkflowServiceGrpc.getDeleteWorkflowMethod = getDeleteWorkflowMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.DeleteWorkflowRequest, io.perdure.v1.DeleteWorkflowResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteWorkflow"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.DeleteWorkflowRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.DeleteWorkflowResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkflowServiceMethodDescriptorSupplier("DeleteWorkflow"))
              .build();
        }
      }
    }
    return getDeleteWorkflowMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static WorkflowServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<WorkflowServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<WorkflowServiceStub>() {
        @java.lang.Override
        public WorkflowServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new WorkflowServiceStub(channel, callOptions);
        }
      };
    return WorkflowServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static WorkflowServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<WorkflowServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<WorkflowServiceBlockingV2Stub>() {
        @java.lang.Override
        public WorkflowServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new WorkflowServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return WorkflowServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static WorkflowServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<WorkflowServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<WorkflowServiceBlockingStub>() {
        @java.lang.Override
        public WorkflowServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new WorkflowServiceBlockingStub(channel, callOptions);
        }
      };
    return WorkflowServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static WorkflowServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<WorkflowServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<WorkflowServiceFutureStub>() {
        @java.lang.Override
        public WorkflowServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new WorkflowServiceFutureStub(channel, callOptions);
        }
      };
    return WorkflowServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Starts workflows, talks to them and reads them.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Accepts a piece of work once per business key. A repeat answers the same workflow with `created = false`;
     * another input: START_INPUT_MISMATCH. OK means stored.
     * </pre>
     */
    default void startWorkflow(io.perdure.v1.StartWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.StartWorkflowResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getStartWorkflowMethod(), responseObserver);
    }

    /**
     * <pre>
     * Several starts, each on its own: one that fails does not touch the others.
     * </pre>
     */
    default void startWorkflows(io.perdure.v1.StartWorkflowsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.StartWorkflowsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getStartWorkflowsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Stores a signal, then wakes what waits for it. OK means stored. `Signal` keeps this name because users asked for it.
     * </pre>
     */
    default void signal(io.perdure.v1.SignalRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.SignalResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSignalMethod(), responseObserver);
    }

    /**
     * <pre>
     * A snapshot, then changes and frames, until the end. A watcher never affects the workflow.
     * `Watch` keeps this name because users asked for it.
     * </pre>
     */
    default void watch(io.perdure.v1.WatchRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.WatchResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWatchMethod(), responseObserver);
    }

    /**
     * <pre>
     * The same for many workflows by filter, without frames.
     * </pre>
     */
    default void watchWorkflows(io.perdure.v1.WatchWorkflowsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.WatchWorkflowsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWatchWorkflowsMethod(), responseObserver);
    }

    /**
     * <pre>
     * One workflow, always fresh.
     * </pre>
     */
    default void getWorkflow(io.perdure.v1.GetWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.GetWorkflowResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetWorkflowMethod(), responseObserver);
    }

    /**
     * <pre>
     * Waits for the end; answers within 60 s at most, with `done = false` rather than hanging.
     * </pre>
     */
    default void waitForResult(io.perdure.v1.WaitForResultRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.WaitForResultResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWaitForResultMethod(), responseObserver);
    }

    /**
     * <pre>
     * Workflows by filter, in pages.
     * </pre>
     */
    default void listWorkflows(io.perdure.v1.ListWorkflowsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListWorkflowsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListWorkflowsMethod(), responseObserver);
    }

    /**
     * <pre>
     * How many workflows match; says when it is an estimate.
     * </pre>
     */
    default void countWorkflows(io.perdure.v1.CountWorkflowsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.CountWorkflowsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCountWorkflowsMethod(), responseObserver);
    }

    /**
     * <pre>
     * The rounds of one key that are kept, newest first.
     * </pre>
     */
    default void listRounds(io.perdure.v1.ListRoundsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListRoundsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListRoundsMethod(), responseObserver);
    }

    /**
     * <pre>
     * The children of a map or child step, by index.
     * </pre>
     */
    default void listChildren(io.perdure.v1.ListChildrenRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListChildrenResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListChildrenMethod(), responseObserver);
    }

    /**
     * <pre>
     * The last claims of a workflow's steps, newest first; 10 per step are kept.
     * </pre>
     */
    default void listAttempts(io.perdure.v1.ListAttemptsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListAttemptsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListAttemptsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads a value that did not fit into a message.
     * </pre>
     */
    default void fetchPayload(io.perdure.v1.FetchPayloadRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.FetchPayloadResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getFetchPayloadMethod(), responseObserver);
    }

    /**
     * <pre>
     * Why a workflow is where it is: what each step waits for, since when, what would move it.
     * </pre>
     */
    default void explainWorkflow(io.perdure.v1.ExplainWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ExplainWorkflowResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getExplainWorkflowMethod(), responseObserver);
    }

    /**
     * <pre>
     * Asks for a cancel. Cancelling already: OK, `duplicate`. Failing: WORKFLOW_FAILING. Ended: WORKFLOW_CLOSED.
     * </pre>
     */
    default void cancelWorkflow(io.perdure.v1.CancelWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.CancelWorkflowResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCancelWorkflowMethod(), responseObserver);
    }

    /**
     * <pre>
     * Ends a workflow at once: tokens fenced, no hooks. Ended: WORKFLOW_CLOSED.
     * </pre>
     */
    default void terminateWorkflow(io.perdure.v1.TerminateWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.TerminateWorkflowResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getTerminateWorkflowMethod(), responseObserver);
    }

    /**
     * <pre>
     * Grants no more claims; results and signals still count. Only while RUNNING.
     * </pre>
     */
    default void pauseWorkflow(io.perdure.v1.PauseWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.PauseWorkflowResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPauseWorkflowMethod(), responseObserver);
    }

    /**
     * <pre>
     * Ends a pause.
     * </pre>
     */
    default void resumeWorkflow(io.perdure.v1.ResumeWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ResumeWorkflowResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getResumeWorkflowMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reopens the failed steps of an ended workflow; completed ones stay. Not ended: WORKFLOW_NOT_CLOSED.
     * </pre>
     */
    default void replayWorkflow(io.perdure.v1.ReplayWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ReplayWorkflowResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReplayWorkflowMethod(), responseObserver);
    }

    /**
     * <pre>
     * Removes an ended workflow before its retention, its payloads and rounds with it; the key's fence is remembered.
     * Not ended: WORKFLOW_NOT_CLOSED.
     * </pre>
     */
    default void deleteWorkflow(io.perdure.v1.DeleteWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.DeleteWorkflowResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteWorkflowMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service WorkflowService.
   * <pre>
   * Starts workflows, talks to them and reads them.
   * </pre>
   */
  public static abstract class WorkflowServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return WorkflowServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service WorkflowService.
   * <pre>
   * Starts workflows, talks to them and reads them.
   * </pre>
   */
  public static final class WorkflowServiceStub
      extends io.grpc.stub.AbstractAsyncStub<WorkflowServiceStub> {
    private WorkflowServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected WorkflowServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new WorkflowServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Accepts a piece of work once per business key. A repeat answers the same workflow with `created = false`;
     * another input: START_INPUT_MISMATCH. OK means stored.
     * </pre>
     */
    public void startWorkflow(io.perdure.v1.StartWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.StartWorkflowResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getStartWorkflowMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Several starts, each on its own: one that fails does not touch the others.
     * </pre>
     */
    public void startWorkflows(io.perdure.v1.StartWorkflowsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.StartWorkflowsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getStartWorkflowsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Stores a signal, then wakes what waits for it. OK means stored. `Signal` keeps this name because users asked for it.
     * </pre>
     */
    public void signal(io.perdure.v1.SignalRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.SignalResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSignalMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * A snapshot, then changes and frames, until the end. A watcher never affects the workflow.
     * `Watch` keeps this name because users asked for it.
     * </pre>
     */
    public void watch(io.perdure.v1.WatchRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.WatchResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getWatchMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * The same for many workflows by filter, without frames.
     * </pre>
     */
    public void watchWorkflows(io.perdure.v1.WatchWorkflowsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.WatchWorkflowsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getWatchWorkflowsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * One workflow, always fresh.
     * </pre>
     */
    public void getWorkflow(io.perdure.v1.GetWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.GetWorkflowResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetWorkflowMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Waits for the end; answers within 60 s at most, with `done = false` rather than hanging.
     * </pre>
     */
    public void waitForResult(io.perdure.v1.WaitForResultRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.WaitForResultResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getWaitForResultMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Workflows by filter, in pages.
     * </pre>
     */
    public void listWorkflows(io.perdure.v1.ListWorkflowsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListWorkflowsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListWorkflowsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * How many workflows match; says when it is an estimate.
     * </pre>
     */
    public void countWorkflows(io.perdure.v1.CountWorkflowsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.CountWorkflowsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCountWorkflowsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * The rounds of one key that are kept, newest first.
     * </pre>
     */
    public void listRounds(io.perdure.v1.ListRoundsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListRoundsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListRoundsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * The children of a map or child step, by index.
     * </pre>
     */
    public void listChildren(io.perdure.v1.ListChildrenRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListChildrenResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListChildrenMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * The last claims of a workflow's steps, newest first; 10 per step are kept.
     * </pre>
     */
    public void listAttempts(io.perdure.v1.ListAttemptsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ListAttemptsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListAttemptsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads a value that did not fit into a message.
     * </pre>
     */
    public void fetchPayload(io.perdure.v1.FetchPayloadRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.FetchPayloadResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getFetchPayloadMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Why a workflow is where it is: what each step waits for, since when, what would move it.
     * </pre>
     */
    public void explainWorkflow(io.perdure.v1.ExplainWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ExplainWorkflowResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getExplainWorkflowMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Asks for a cancel. Cancelling already: OK, `duplicate`. Failing: WORKFLOW_FAILING. Ended: WORKFLOW_CLOSED.
     * </pre>
     */
    public void cancelWorkflow(io.perdure.v1.CancelWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.CancelWorkflowResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCancelWorkflowMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Ends a workflow at once: tokens fenced, no hooks. Ended: WORKFLOW_CLOSED.
     * </pre>
     */
    public void terminateWorkflow(io.perdure.v1.TerminateWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.TerminateWorkflowResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getTerminateWorkflowMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Grants no more claims; results and signals still count. Only while RUNNING.
     * </pre>
     */
    public void pauseWorkflow(io.perdure.v1.PauseWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.PauseWorkflowResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPauseWorkflowMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Ends a pause.
     * </pre>
     */
    public void resumeWorkflow(io.perdure.v1.ResumeWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ResumeWorkflowResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getResumeWorkflowMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reopens the failed steps of an ended workflow; completed ones stay. Not ended: WORKFLOW_NOT_CLOSED.
     * </pre>
     */
    public void replayWorkflow(io.perdure.v1.ReplayWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.ReplayWorkflowResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReplayWorkflowMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Removes an ended workflow before its retention, its payloads and rounds with it; the key's fence is remembered.
     * Not ended: WORKFLOW_NOT_CLOSED.
     * </pre>
     */
    public void deleteWorkflow(io.perdure.v1.DeleteWorkflowRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.DeleteWorkflowResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteWorkflowMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service WorkflowService.
   * <pre>
   * Starts workflows, talks to them and reads them.
   * </pre>
   */
  public static final class WorkflowServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<WorkflowServiceBlockingV2Stub> {
    private WorkflowServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected WorkflowServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new WorkflowServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Accepts a piece of work once per business key. A repeat answers the same workflow with `created = false`;
     * another input: START_INPUT_MISMATCH. OK means stored.
     * </pre>
     */
    public io.perdure.v1.StartWorkflowResponse startWorkflow(io.perdure.v1.StartWorkflowRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getStartWorkflowMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Several starts, each on its own: one that fails does not touch the others.
     * </pre>
     */
    public io.perdure.v1.StartWorkflowsResponse startWorkflows(io.perdure.v1.StartWorkflowsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getStartWorkflowsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Stores a signal, then wakes what waits for it. OK means stored. `Signal` keeps this name because users asked for it.
     * </pre>
     */
    public io.perdure.v1.SignalResponse signal(io.perdure.v1.SignalRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSignalMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * A snapshot, then changes and frames, until the end. A watcher never affects the workflow.
     * `Watch` keeps this name because users asked for it.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, io.perdure.v1.WatchResponse>
        watch(io.perdure.v1.WatchRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getWatchMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The same for many workflows by filter, without frames.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, io.perdure.v1.WatchWorkflowsResponse>
        watchWorkflows(io.perdure.v1.WatchWorkflowsRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getWatchWorkflowsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One workflow, always fresh.
     * </pre>
     */
    public io.perdure.v1.GetWorkflowResponse getWorkflow(io.perdure.v1.GetWorkflowRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetWorkflowMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Waits for the end; answers within 60 s at most, with `done = false` rather than hanging.
     * </pre>
     */
    public io.perdure.v1.WaitForResultResponse waitForResult(io.perdure.v1.WaitForResultRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getWaitForResultMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Workflows by filter, in pages.
     * </pre>
     */
    public io.perdure.v1.ListWorkflowsResponse listWorkflows(io.perdure.v1.ListWorkflowsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListWorkflowsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * How many workflows match; says when it is an estimate.
     * </pre>
     */
    public io.perdure.v1.CountWorkflowsResponse countWorkflows(io.perdure.v1.CountWorkflowsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCountWorkflowsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The rounds of one key that are kept, newest first.
     * </pre>
     */
    public io.perdure.v1.ListRoundsResponse listRounds(io.perdure.v1.ListRoundsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListRoundsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The children of a map or child step, by index.
     * </pre>
     */
    public io.perdure.v1.ListChildrenResponse listChildren(io.perdure.v1.ListChildrenRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListChildrenMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The last claims of a workflow's steps, newest first; 10 per step are kept.
     * </pre>
     */
    public io.perdure.v1.ListAttemptsResponse listAttempts(io.perdure.v1.ListAttemptsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListAttemptsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads a value that did not fit into a message.
     * </pre>
     */
    public io.perdure.v1.FetchPayloadResponse fetchPayload(io.perdure.v1.FetchPayloadRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getFetchPayloadMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Why a workflow is where it is: what each step waits for, since when, what would move it.
     * </pre>
     */
    public io.perdure.v1.ExplainWorkflowResponse explainWorkflow(io.perdure.v1.ExplainWorkflowRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getExplainWorkflowMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Asks for a cancel. Cancelling already: OK, `duplicate`. Failing: WORKFLOW_FAILING. Ended: WORKFLOW_CLOSED.
     * </pre>
     */
    public io.perdure.v1.CancelWorkflowResponse cancelWorkflow(io.perdure.v1.CancelWorkflowRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCancelWorkflowMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends a workflow at once: tokens fenced, no hooks. Ended: WORKFLOW_CLOSED.
     * </pre>
     */
    public io.perdure.v1.TerminateWorkflowResponse terminateWorkflow(io.perdure.v1.TerminateWorkflowRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getTerminateWorkflowMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Grants no more claims; results and signals still count. Only while RUNNING.
     * </pre>
     */
    public io.perdure.v1.PauseWorkflowResponse pauseWorkflow(io.perdure.v1.PauseWorkflowRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPauseWorkflowMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends a pause.
     * </pre>
     */
    public io.perdure.v1.ResumeWorkflowResponse resumeWorkflow(io.perdure.v1.ResumeWorkflowRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getResumeWorkflowMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reopens the failed steps of an ended workflow; completed ones stay. Not ended: WORKFLOW_NOT_CLOSED.
     * </pre>
     */
    public io.perdure.v1.ReplayWorkflowResponse replayWorkflow(io.perdure.v1.ReplayWorkflowRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReplayWorkflowMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes an ended workflow before its retention, its payloads and rounds with it; the key's fence is remembered.
     * Not ended: WORKFLOW_NOT_CLOSED.
     * </pre>
     */
    public io.perdure.v1.DeleteWorkflowResponse deleteWorkflow(io.perdure.v1.DeleteWorkflowRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteWorkflowMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service WorkflowService.
   * <pre>
   * Starts workflows, talks to them and reads them.
   * </pre>
   */
  public static final class WorkflowServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<WorkflowServiceBlockingStub> {
    private WorkflowServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected WorkflowServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new WorkflowServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Accepts a piece of work once per business key. A repeat answers the same workflow with `created = false`;
     * another input: START_INPUT_MISMATCH. OK means stored.
     * </pre>
     */
    public io.perdure.v1.StartWorkflowResponse startWorkflow(io.perdure.v1.StartWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getStartWorkflowMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Several starts, each on its own: one that fails does not touch the others.
     * </pre>
     */
    public io.perdure.v1.StartWorkflowsResponse startWorkflows(io.perdure.v1.StartWorkflowsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getStartWorkflowsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Stores a signal, then wakes what waits for it. OK means stored. `Signal` keeps this name because users asked for it.
     * </pre>
     */
    public io.perdure.v1.SignalResponse signal(io.perdure.v1.SignalRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSignalMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * A snapshot, then changes and frames, until the end. A watcher never affects the workflow.
     * `Watch` keeps this name because users asked for it.
     * </pre>
     */
    public java.util.Iterator<io.perdure.v1.WatchResponse> watch(
        io.perdure.v1.WatchRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getWatchMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The same for many workflows by filter, without frames.
     * </pre>
     */
    public java.util.Iterator<io.perdure.v1.WatchWorkflowsResponse> watchWorkflows(
        io.perdure.v1.WatchWorkflowsRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getWatchWorkflowsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One workflow, always fresh.
     * </pre>
     */
    public io.perdure.v1.GetWorkflowResponse getWorkflow(io.perdure.v1.GetWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetWorkflowMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Waits for the end; answers within 60 s at most, with `done = false` rather than hanging.
     * </pre>
     */
    public io.perdure.v1.WaitForResultResponse waitForResult(io.perdure.v1.WaitForResultRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getWaitForResultMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Workflows by filter, in pages.
     * </pre>
     */
    public io.perdure.v1.ListWorkflowsResponse listWorkflows(io.perdure.v1.ListWorkflowsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListWorkflowsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * How many workflows match; says when it is an estimate.
     * </pre>
     */
    public io.perdure.v1.CountWorkflowsResponse countWorkflows(io.perdure.v1.CountWorkflowsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCountWorkflowsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The rounds of one key that are kept, newest first.
     * </pre>
     */
    public io.perdure.v1.ListRoundsResponse listRounds(io.perdure.v1.ListRoundsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListRoundsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The children of a map or child step, by index.
     * </pre>
     */
    public io.perdure.v1.ListChildrenResponse listChildren(io.perdure.v1.ListChildrenRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListChildrenMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The last claims of a workflow's steps, newest first; 10 per step are kept.
     * </pre>
     */
    public io.perdure.v1.ListAttemptsResponse listAttempts(io.perdure.v1.ListAttemptsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListAttemptsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads a value that did not fit into a message.
     * </pre>
     */
    public io.perdure.v1.FetchPayloadResponse fetchPayload(io.perdure.v1.FetchPayloadRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getFetchPayloadMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Why a workflow is where it is: what each step waits for, since when, what would move it.
     * </pre>
     */
    public io.perdure.v1.ExplainWorkflowResponse explainWorkflow(io.perdure.v1.ExplainWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getExplainWorkflowMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Asks for a cancel. Cancelling already: OK, `duplicate`. Failing: WORKFLOW_FAILING. Ended: WORKFLOW_CLOSED.
     * </pre>
     */
    public io.perdure.v1.CancelWorkflowResponse cancelWorkflow(io.perdure.v1.CancelWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCancelWorkflowMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends a workflow at once: tokens fenced, no hooks. Ended: WORKFLOW_CLOSED.
     * </pre>
     */
    public io.perdure.v1.TerminateWorkflowResponse terminateWorkflow(io.perdure.v1.TerminateWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getTerminateWorkflowMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Grants no more claims; results and signals still count. Only while RUNNING.
     * </pre>
     */
    public io.perdure.v1.PauseWorkflowResponse pauseWorkflow(io.perdure.v1.PauseWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPauseWorkflowMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends a pause.
     * </pre>
     */
    public io.perdure.v1.ResumeWorkflowResponse resumeWorkflow(io.perdure.v1.ResumeWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getResumeWorkflowMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reopens the failed steps of an ended workflow; completed ones stay. Not ended: WORKFLOW_NOT_CLOSED.
     * </pre>
     */
    public io.perdure.v1.ReplayWorkflowResponse replayWorkflow(io.perdure.v1.ReplayWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReplayWorkflowMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes an ended workflow before its retention, its payloads and rounds with it; the key's fence is remembered.
     * Not ended: WORKFLOW_NOT_CLOSED.
     * </pre>
     */
    public io.perdure.v1.DeleteWorkflowResponse deleteWorkflow(io.perdure.v1.DeleteWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteWorkflowMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service WorkflowService.
   * <pre>
   * Starts workflows, talks to them and reads them.
   * </pre>
   */
  public static final class WorkflowServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<WorkflowServiceFutureStub> {
    private WorkflowServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected WorkflowServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new WorkflowServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Accepts a piece of work once per business key. A repeat answers the same workflow with `created = false`;
     * another input: START_INPUT_MISMATCH. OK means stored.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.StartWorkflowResponse> startWorkflow(
        io.perdure.v1.StartWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getStartWorkflowMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Several starts, each on its own: one that fails does not touch the others.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.StartWorkflowsResponse> startWorkflows(
        io.perdure.v1.StartWorkflowsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getStartWorkflowsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Stores a signal, then wakes what waits for it. OK means stored. `Signal` keeps this name because users asked for it.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.SignalResponse> signal(
        io.perdure.v1.SignalRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSignalMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * One workflow, always fresh.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.GetWorkflowResponse> getWorkflow(
        io.perdure.v1.GetWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetWorkflowMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Waits for the end; answers within 60 s at most, with `done = false` rather than hanging.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.WaitForResultResponse> waitForResult(
        io.perdure.v1.WaitForResultRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getWaitForResultMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Workflows by filter, in pages.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.ListWorkflowsResponse> listWorkflows(
        io.perdure.v1.ListWorkflowsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListWorkflowsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * How many workflows match; says when it is an estimate.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.CountWorkflowsResponse> countWorkflows(
        io.perdure.v1.CountWorkflowsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCountWorkflowsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * The rounds of one key that are kept, newest first.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.ListRoundsResponse> listRounds(
        io.perdure.v1.ListRoundsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListRoundsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * The children of a map or child step, by index.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.ListChildrenResponse> listChildren(
        io.perdure.v1.ListChildrenRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListChildrenMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * The last claims of a workflow's steps, newest first; 10 per step are kept.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.ListAttemptsResponse> listAttempts(
        io.perdure.v1.ListAttemptsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListAttemptsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads a value that did not fit into a message.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.FetchPayloadResponse> fetchPayload(
        io.perdure.v1.FetchPayloadRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getFetchPayloadMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Why a workflow is where it is: what each step waits for, since when, what would move it.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.ExplainWorkflowResponse> explainWorkflow(
        io.perdure.v1.ExplainWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getExplainWorkflowMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Asks for a cancel. Cancelling already: OK, `duplicate`. Failing: WORKFLOW_FAILING. Ended: WORKFLOW_CLOSED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.CancelWorkflowResponse> cancelWorkflow(
        io.perdure.v1.CancelWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCancelWorkflowMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Ends a workflow at once: tokens fenced, no hooks. Ended: WORKFLOW_CLOSED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.TerminateWorkflowResponse> terminateWorkflow(
        io.perdure.v1.TerminateWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getTerminateWorkflowMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Grants no more claims; results and signals still count. Only while RUNNING.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.PauseWorkflowResponse> pauseWorkflow(
        io.perdure.v1.PauseWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPauseWorkflowMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Ends a pause.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.ResumeWorkflowResponse> resumeWorkflow(
        io.perdure.v1.ResumeWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getResumeWorkflowMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reopens the failed steps of an ended workflow; completed ones stay. Not ended: WORKFLOW_NOT_CLOSED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.ReplayWorkflowResponse> replayWorkflow(
        io.perdure.v1.ReplayWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReplayWorkflowMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Removes an ended workflow before its retention, its payloads and rounds with it; the key's fence is remembered.
     * Not ended: WORKFLOW_NOT_CLOSED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.DeleteWorkflowResponse> deleteWorkflow(
        io.perdure.v1.DeleteWorkflowRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteWorkflowMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_START_WORKFLOW = 0;
  private static final int METHODID_START_WORKFLOWS = 1;
  private static final int METHODID_SIGNAL = 2;
  private static final int METHODID_WATCH = 3;
  private static final int METHODID_WATCH_WORKFLOWS = 4;
  private static final int METHODID_GET_WORKFLOW = 5;
  private static final int METHODID_WAIT_FOR_RESULT = 6;
  private static final int METHODID_LIST_WORKFLOWS = 7;
  private static final int METHODID_COUNT_WORKFLOWS = 8;
  private static final int METHODID_LIST_ROUNDS = 9;
  private static final int METHODID_LIST_CHILDREN = 10;
  private static final int METHODID_LIST_ATTEMPTS = 11;
  private static final int METHODID_FETCH_PAYLOAD = 12;
  private static final int METHODID_EXPLAIN_WORKFLOW = 13;
  private static final int METHODID_CANCEL_WORKFLOW = 14;
  private static final int METHODID_TERMINATE_WORKFLOW = 15;
  private static final int METHODID_PAUSE_WORKFLOW = 16;
  private static final int METHODID_RESUME_WORKFLOW = 17;
  private static final int METHODID_REPLAY_WORKFLOW = 18;
  private static final int METHODID_DELETE_WORKFLOW = 19;

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
        case METHODID_START_WORKFLOW:
          serviceImpl.startWorkflow((io.perdure.v1.StartWorkflowRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.StartWorkflowResponse>) responseObserver);
          break;
        case METHODID_START_WORKFLOWS:
          serviceImpl.startWorkflows((io.perdure.v1.StartWorkflowsRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.StartWorkflowsResponse>) responseObserver);
          break;
        case METHODID_SIGNAL:
          serviceImpl.signal((io.perdure.v1.SignalRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.SignalResponse>) responseObserver);
          break;
        case METHODID_WATCH:
          serviceImpl.watch((io.perdure.v1.WatchRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.WatchResponse>) responseObserver);
          break;
        case METHODID_WATCH_WORKFLOWS:
          serviceImpl.watchWorkflows((io.perdure.v1.WatchWorkflowsRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.WatchWorkflowsResponse>) responseObserver);
          break;
        case METHODID_GET_WORKFLOW:
          serviceImpl.getWorkflow((io.perdure.v1.GetWorkflowRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.GetWorkflowResponse>) responseObserver);
          break;
        case METHODID_WAIT_FOR_RESULT:
          serviceImpl.waitForResult((io.perdure.v1.WaitForResultRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.WaitForResultResponse>) responseObserver);
          break;
        case METHODID_LIST_WORKFLOWS:
          serviceImpl.listWorkflows((io.perdure.v1.ListWorkflowsRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.ListWorkflowsResponse>) responseObserver);
          break;
        case METHODID_COUNT_WORKFLOWS:
          serviceImpl.countWorkflows((io.perdure.v1.CountWorkflowsRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.CountWorkflowsResponse>) responseObserver);
          break;
        case METHODID_LIST_ROUNDS:
          serviceImpl.listRounds((io.perdure.v1.ListRoundsRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.ListRoundsResponse>) responseObserver);
          break;
        case METHODID_LIST_CHILDREN:
          serviceImpl.listChildren((io.perdure.v1.ListChildrenRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.ListChildrenResponse>) responseObserver);
          break;
        case METHODID_LIST_ATTEMPTS:
          serviceImpl.listAttempts((io.perdure.v1.ListAttemptsRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.ListAttemptsResponse>) responseObserver);
          break;
        case METHODID_FETCH_PAYLOAD:
          serviceImpl.fetchPayload((io.perdure.v1.FetchPayloadRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.FetchPayloadResponse>) responseObserver);
          break;
        case METHODID_EXPLAIN_WORKFLOW:
          serviceImpl.explainWorkflow((io.perdure.v1.ExplainWorkflowRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.ExplainWorkflowResponse>) responseObserver);
          break;
        case METHODID_CANCEL_WORKFLOW:
          serviceImpl.cancelWorkflow((io.perdure.v1.CancelWorkflowRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.CancelWorkflowResponse>) responseObserver);
          break;
        case METHODID_TERMINATE_WORKFLOW:
          serviceImpl.terminateWorkflow((io.perdure.v1.TerminateWorkflowRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.TerminateWorkflowResponse>) responseObserver);
          break;
        case METHODID_PAUSE_WORKFLOW:
          serviceImpl.pauseWorkflow((io.perdure.v1.PauseWorkflowRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.PauseWorkflowResponse>) responseObserver);
          break;
        case METHODID_RESUME_WORKFLOW:
          serviceImpl.resumeWorkflow((io.perdure.v1.ResumeWorkflowRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.ResumeWorkflowResponse>) responseObserver);
          break;
        case METHODID_REPLAY_WORKFLOW:
          serviceImpl.replayWorkflow((io.perdure.v1.ReplayWorkflowRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.ReplayWorkflowResponse>) responseObserver);
          break;
        case METHODID_DELETE_WORKFLOW:
          serviceImpl.deleteWorkflow((io.perdure.v1.DeleteWorkflowRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.DeleteWorkflowResponse>) responseObserver);
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
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getStartWorkflowMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.StartWorkflowRequest,
              io.perdure.v1.StartWorkflowResponse>(
                service, METHODID_START_WORKFLOW)))
        .addMethod(
          getStartWorkflowsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.StartWorkflowsRequest,
              io.perdure.v1.StartWorkflowsResponse>(
                service, METHODID_START_WORKFLOWS)))
        .addMethod(
          getSignalMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.SignalRequest,
              io.perdure.v1.SignalResponse>(
                service, METHODID_SIGNAL)))
        .addMethod(
          getWatchMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              io.perdure.v1.WatchRequest,
              io.perdure.v1.WatchResponse>(
                service, METHODID_WATCH)))
        .addMethod(
          getWatchWorkflowsMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              io.perdure.v1.WatchWorkflowsRequest,
              io.perdure.v1.WatchWorkflowsResponse>(
                service, METHODID_WATCH_WORKFLOWS)))
        .addMethod(
          getGetWorkflowMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.GetWorkflowRequest,
              io.perdure.v1.GetWorkflowResponse>(
                service, METHODID_GET_WORKFLOW)))
        .addMethod(
          getWaitForResultMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.WaitForResultRequest,
              io.perdure.v1.WaitForResultResponse>(
                service, METHODID_WAIT_FOR_RESULT)))
        .addMethod(
          getListWorkflowsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.ListWorkflowsRequest,
              io.perdure.v1.ListWorkflowsResponse>(
                service, METHODID_LIST_WORKFLOWS)))
        .addMethod(
          getCountWorkflowsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.CountWorkflowsRequest,
              io.perdure.v1.CountWorkflowsResponse>(
                service, METHODID_COUNT_WORKFLOWS)))
        .addMethod(
          getListRoundsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.ListRoundsRequest,
              io.perdure.v1.ListRoundsResponse>(
                service, METHODID_LIST_ROUNDS)))
        .addMethod(
          getListChildrenMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.ListChildrenRequest,
              io.perdure.v1.ListChildrenResponse>(
                service, METHODID_LIST_CHILDREN)))
        .addMethod(
          getListAttemptsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.ListAttemptsRequest,
              io.perdure.v1.ListAttemptsResponse>(
                service, METHODID_LIST_ATTEMPTS)))
        .addMethod(
          getFetchPayloadMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.FetchPayloadRequest,
              io.perdure.v1.FetchPayloadResponse>(
                service, METHODID_FETCH_PAYLOAD)))
        .addMethod(
          getExplainWorkflowMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.ExplainWorkflowRequest,
              io.perdure.v1.ExplainWorkflowResponse>(
                service, METHODID_EXPLAIN_WORKFLOW)))
        .addMethod(
          getCancelWorkflowMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.CancelWorkflowRequest,
              io.perdure.v1.CancelWorkflowResponse>(
                service, METHODID_CANCEL_WORKFLOW)))
        .addMethod(
          getTerminateWorkflowMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.TerminateWorkflowRequest,
              io.perdure.v1.TerminateWorkflowResponse>(
                service, METHODID_TERMINATE_WORKFLOW)))
        .addMethod(
          getPauseWorkflowMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.PauseWorkflowRequest,
              io.perdure.v1.PauseWorkflowResponse>(
                service, METHODID_PAUSE_WORKFLOW)))
        .addMethod(
          getResumeWorkflowMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.ResumeWorkflowRequest,
              io.perdure.v1.ResumeWorkflowResponse>(
                service, METHODID_RESUME_WORKFLOW)))
        .addMethod(
          getReplayWorkflowMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.ReplayWorkflowRequest,
              io.perdure.v1.ReplayWorkflowResponse>(
                service, METHODID_REPLAY_WORKFLOW)))
        .addMethod(
          getDeleteWorkflowMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.DeleteWorkflowRequest,
              io.perdure.v1.DeleteWorkflowResponse>(
                service, METHODID_DELETE_WORKFLOW)))
        .build();
  }

  private static abstract class WorkflowServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    WorkflowServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.perdure.v1.WorkflowServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("WorkflowService");
    }
  }

  private static final class WorkflowServiceFileDescriptorSupplier
      extends WorkflowServiceBaseDescriptorSupplier {
    WorkflowServiceFileDescriptorSupplier() {}
  }

  private static final class WorkflowServiceMethodDescriptorSupplier
      extends WorkflowServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    WorkflowServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (WorkflowServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new WorkflowServiceFileDescriptorSupplier())
              .addMethod(getStartWorkflowMethod())
              .addMethod(getStartWorkflowsMethod())
              .addMethod(getSignalMethod())
              .addMethod(getWatchMethod())
              .addMethod(getWatchWorkflowsMethod())
              .addMethod(getGetWorkflowMethod())
              .addMethod(getWaitForResultMethod())
              .addMethod(getListWorkflowsMethod())
              .addMethod(getCountWorkflowsMethod())
              .addMethod(getListRoundsMethod())
              .addMethod(getListChildrenMethod())
              .addMethod(getListAttemptsMethod())
              .addMethod(getFetchPayloadMethod())
              .addMethod(getExplainWorkflowMethod())
              .addMethod(getCancelWorkflowMethod())
              .addMethod(getTerminateWorkflowMethod())
              .addMethod(getPauseWorkflowMethod())
              .addMethod(getResumeWorkflowMethod())
              .addMethod(getReplayWorkflowMethod())
              .addMethod(getDeleteWorkflowMethod())
              .build();
        }
      }
    }
    return result;
  }
}
