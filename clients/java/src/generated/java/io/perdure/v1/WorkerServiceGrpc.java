package io.perdure.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Grants claims for steps to workers, and takes their results.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class WorkerServiceGrpc {

  private WorkerServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "perdure.v1.WorkerService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.ClaimRequest,
      io.perdure.v1.ClaimResponse> getClaimMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Claim",
      requestType = io.perdure.v1.ClaimRequest.class,
      responseType = io.perdure.v1.ClaimResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<io.perdure.v1.ClaimRequest,
      io.perdure.v1.ClaimResponse> getClaimMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.ClaimRequest, io.perdure.v1.ClaimResponse> getClaimMethod;
    if ((getClaimMethod = WorkerServiceGrpc.getClaimMethod) == null) {
      synchronized (WorkerServiceGrpc.class) {
        if ((getClaimMethod = WorkerServiceGrpc.getClaimMethod) == null) {
          WorkerServiceGrpc.getClaimMethod = getClaimMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.ClaimRequest, io.perdure.v1.ClaimResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Claim"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ClaimRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.ClaimResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkerServiceMethodDescriptorSupplier("Claim"))
              .build();
        }
      }
    }
    return getClaimMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.CompleteRequest,
      io.perdure.v1.CompleteResponse> getCompleteMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Complete",
      requestType = io.perdure.v1.CompleteRequest.class,
      responseType = io.perdure.v1.CompleteResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.CompleteRequest,
      io.perdure.v1.CompleteResponse> getCompleteMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.CompleteRequest, io.perdure.v1.CompleteResponse> getCompleteMethod;
    if ((getCompleteMethod = WorkerServiceGrpc.getCompleteMethod) == null) {
      synchronized (WorkerServiceGrpc.class) {
        if ((getCompleteMethod = WorkerServiceGrpc.getCompleteMethod) == null) {
          WorkerServiceGrpc.getCompleteMethod = getCompleteMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.CompleteRequest, io.perdure.v1.CompleteResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Complete"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.CompleteRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.CompleteResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkerServiceMethodDescriptorSupplier("Complete"))
              .build();
        }
      }
    }
    return getCompleteMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.HeartbeatRequest,
      io.perdure.v1.HeartbeatResponse> getHeartbeatMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Heartbeat",
      requestType = io.perdure.v1.HeartbeatRequest.class,
      responseType = io.perdure.v1.HeartbeatResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.HeartbeatRequest,
      io.perdure.v1.HeartbeatResponse> getHeartbeatMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.HeartbeatRequest, io.perdure.v1.HeartbeatResponse> getHeartbeatMethod;
    if ((getHeartbeatMethod = WorkerServiceGrpc.getHeartbeatMethod) == null) {
      synchronized (WorkerServiceGrpc.class) {
        if ((getHeartbeatMethod = WorkerServiceGrpc.getHeartbeatMethod) == null) {
          WorkerServiceGrpc.getHeartbeatMethod = getHeartbeatMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.HeartbeatRequest, io.perdure.v1.HeartbeatResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Heartbeat"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.HeartbeatRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.HeartbeatResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkerServiceMethodDescriptorSupplier("Heartbeat"))
              .build();
        }
      }
    }
    return getHeartbeatMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.PollClaimsRequest,
      io.perdure.v1.PollClaimsResponse> getPollClaimsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "PollClaims",
      requestType = io.perdure.v1.PollClaimsRequest.class,
      responseType = io.perdure.v1.PollClaimsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.PollClaimsRequest,
      io.perdure.v1.PollClaimsResponse> getPollClaimsMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.PollClaimsRequest, io.perdure.v1.PollClaimsResponse> getPollClaimsMethod;
    if ((getPollClaimsMethod = WorkerServiceGrpc.getPollClaimsMethod) == null) {
      synchronized (WorkerServiceGrpc.class) {
        if ((getPollClaimsMethod = WorkerServiceGrpc.getPollClaimsMethod) == null) {
          WorkerServiceGrpc.getPollClaimsMethod = getPollClaimsMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.PollClaimsRequest, io.perdure.v1.PollClaimsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "PollClaims"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.PollClaimsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.PollClaimsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkerServiceMethodDescriptorSupplier("PollClaims"))
              .build();
        }
      }
    }
    return getPollClaimsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.v1.RenewClaimsRequest,
      io.perdure.v1.RenewClaimsResponse> getRenewClaimsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RenewClaims",
      requestType = io.perdure.v1.RenewClaimsRequest.class,
      responseType = io.perdure.v1.RenewClaimsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.v1.RenewClaimsRequest,
      io.perdure.v1.RenewClaimsResponse> getRenewClaimsMethod() {
    io.grpc.MethodDescriptor<io.perdure.v1.RenewClaimsRequest, io.perdure.v1.RenewClaimsResponse> getRenewClaimsMethod;
    if ((getRenewClaimsMethod = WorkerServiceGrpc.getRenewClaimsMethod) == null) {
      synchronized (WorkerServiceGrpc.class) {
        if ((getRenewClaimsMethod = WorkerServiceGrpc.getRenewClaimsMethod) == null) {
          WorkerServiceGrpc.getRenewClaimsMethod = getRenewClaimsMethod =
              io.grpc.MethodDescriptor.<io.perdure.v1.RenewClaimsRequest, io.perdure.v1.RenewClaimsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RenewClaims"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.RenewClaimsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.v1.RenewClaimsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new WorkerServiceMethodDescriptorSupplier("RenewClaims"))
              .build();
        }
      }
    }
    return getRenewClaimsMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static WorkerServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<WorkerServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<WorkerServiceStub>() {
        @java.lang.Override
        public WorkerServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new WorkerServiceStub(channel, callOptions);
        }
      };
    return WorkerServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static WorkerServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<WorkerServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<WorkerServiceBlockingV2Stub>() {
        @java.lang.Override
        public WorkerServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new WorkerServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return WorkerServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static WorkerServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<WorkerServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<WorkerServiceBlockingStub>() {
        @java.lang.Override
        public WorkerServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new WorkerServiceBlockingStub(channel, callOptions);
        }
      };
    return WorkerServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static WorkerServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<WorkerServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<WorkerServiceFutureStub>() {
        @java.lang.Override
        public WorkerServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new WorkerServiceFutureStub(channel, callOptions);
        }
      };
    return WorkerServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Grants claims for steps to workers, and takes their results.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * The stream of claims: hello first, then credit, claims, renewals, results. Ends with go_away or the connection;
     * claims survive a reconnect. `Claim` keeps this name because users asked for it.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<io.perdure.v1.ClaimRequest> claim(
        io.grpc.stub.StreamObserver<io.perdure.v1.ClaimResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getClaimMethod(), responseObserver);
    }

    /**
     * <pre>
     * Settles one claim. The same token with the same outcome again: OK, `duplicate`. Token not current: CLAIM_LOST.
     * Never refused for overload or because the workflow is large.
     * </pre>
     */
    default void complete(io.perdure.v1.CompleteRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.CompleteResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCompleteMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sign of life, checkpoint and frames of one claim; answers OK when the checkpoint is stored. Renews its session.
     * </pre>
     */
    default void heartbeat(io.perdure.v1.HeartbeatRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.HeartbeatResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getHeartbeatMethod(), responseObserver);
    }

    /**
     * <pre>
     * Waits for claims without a stream, for people, lambdas and languages without streams. Each claim is acknowledged
     * with its grant and has a session, and lease, of its own.
     * </pre>
     */
    default void pollClaims(io.perdure.v1.PollClaimsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.PollClaimsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getPollClaimsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Renews the leases of claims from PollClaims, or the sessions of the tokens named.
     * </pre>
     */
    default void renewClaims(io.perdure.v1.RenewClaimsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.RenewClaimsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRenewClaimsMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service WorkerService.
   * <pre>
   * Grants claims for steps to workers, and takes their results.
   * </pre>
   */
  public static abstract class WorkerServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return WorkerServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service WorkerService.
   * <pre>
   * Grants claims for steps to workers, and takes their results.
   * </pre>
   */
  public static final class WorkerServiceStub
      extends io.grpc.stub.AbstractAsyncStub<WorkerServiceStub> {
    private WorkerServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected WorkerServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new WorkerServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * The stream of claims: hello first, then credit, claims, renewals, results. Ends with go_away or the connection;
     * claims survive a reconnect. `Claim` keeps this name because users asked for it.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<io.perdure.v1.ClaimRequest> claim(
        io.grpc.stub.StreamObserver<io.perdure.v1.ClaimResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getClaimMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * Settles one claim. The same token with the same outcome again: OK, `duplicate`. Token not current: CLAIM_LOST.
     * Never refused for overload or because the workflow is large.
     * </pre>
     */
    public void complete(io.perdure.v1.CompleteRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.CompleteResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCompleteMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sign of life, checkpoint and frames of one claim; answers OK when the checkpoint is stored. Renews its session.
     * </pre>
     */
    public void heartbeat(io.perdure.v1.HeartbeatRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.HeartbeatResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getHeartbeatMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Waits for claims without a stream, for people, lambdas and languages without streams. Each claim is acknowledged
     * with its grant and has a session, and lease, of its own.
     * </pre>
     */
    public void pollClaims(io.perdure.v1.PollClaimsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.PollClaimsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getPollClaimsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Renews the leases of claims from PollClaims, or the sessions of the tokens named.
     * </pre>
     */
    public void renewClaims(io.perdure.v1.RenewClaimsRequest request,
        io.grpc.stub.StreamObserver<io.perdure.v1.RenewClaimsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRenewClaimsMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service WorkerService.
   * <pre>
   * Grants claims for steps to workers, and takes their results.
   * </pre>
   */
  public static final class WorkerServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<WorkerServiceBlockingV2Stub> {
    private WorkerServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected WorkerServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new WorkerServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * The stream of claims: hello first, then credit, claims, renewals, results. Ends with go_away or the connection;
     * claims survive a reconnect. `Claim` keeps this name because users asked for it.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<io.perdure.v1.ClaimRequest, io.perdure.v1.ClaimResponse>
        claim() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getClaimMethod(), getCallOptions());
    }

    /**
     * <pre>
     * Settles one claim. The same token with the same outcome again: OK, `duplicate`. Token not current: CLAIM_LOST.
     * Never refused for overload or because the workflow is large.
     * </pre>
     */
    public io.perdure.v1.CompleteResponse complete(io.perdure.v1.CompleteRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCompleteMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sign of life, checkpoint and frames of one claim; answers OK when the checkpoint is stored. Renews its session.
     * </pre>
     */
    public io.perdure.v1.HeartbeatResponse heartbeat(io.perdure.v1.HeartbeatRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getHeartbeatMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Waits for claims without a stream, for people, lambdas and languages without streams. Each claim is acknowledged
     * with its grant and has a session, and lease, of its own.
     * </pre>
     */
    public io.perdure.v1.PollClaimsResponse pollClaims(io.perdure.v1.PollClaimsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getPollClaimsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Renews the leases of claims from PollClaims, or the sessions of the tokens named.
     * </pre>
     */
    public io.perdure.v1.RenewClaimsResponse renewClaims(io.perdure.v1.RenewClaimsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRenewClaimsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service WorkerService.
   * <pre>
   * Grants claims for steps to workers, and takes their results.
   * </pre>
   */
  public static final class WorkerServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<WorkerServiceBlockingStub> {
    private WorkerServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected WorkerServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new WorkerServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Settles one claim. The same token with the same outcome again: OK, `duplicate`. Token not current: CLAIM_LOST.
     * Never refused for overload or because the workflow is large.
     * </pre>
     */
    public io.perdure.v1.CompleteResponse complete(io.perdure.v1.CompleteRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCompleteMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sign of life, checkpoint and frames of one claim; answers OK when the checkpoint is stored. Renews its session.
     * </pre>
     */
    public io.perdure.v1.HeartbeatResponse heartbeat(io.perdure.v1.HeartbeatRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getHeartbeatMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Waits for claims without a stream, for people, lambdas and languages without streams. Each claim is acknowledged
     * with its grant and has a session, and lease, of its own.
     * </pre>
     */
    public io.perdure.v1.PollClaimsResponse pollClaims(io.perdure.v1.PollClaimsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getPollClaimsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Renews the leases of claims from PollClaims, or the sessions of the tokens named.
     * </pre>
     */
    public io.perdure.v1.RenewClaimsResponse renewClaims(io.perdure.v1.RenewClaimsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRenewClaimsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service WorkerService.
   * <pre>
   * Grants claims for steps to workers, and takes their results.
   * </pre>
   */
  public static final class WorkerServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<WorkerServiceFutureStub> {
    private WorkerServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected WorkerServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new WorkerServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Settles one claim. The same token with the same outcome again: OK, `duplicate`. Token not current: CLAIM_LOST.
     * Never refused for overload or because the workflow is large.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.CompleteResponse> complete(
        io.perdure.v1.CompleteRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCompleteMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Sign of life, checkpoint and frames of one claim; answers OK when the checkpoint is stored. Renews its session.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.HeartbeatResponse> heartbeat(
        io.perdure.v1.HeartbeatRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getHeartbeatMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Waits for claims without a stream, for people, lambdas and languages without streams. Each claim is acknowledged
     * with its grant and has a session, and lease, of its own.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.PollClaimsResponse> pollClaims(
        io.perdure.v1.PollClaimsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getPollClaimsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Renews the leases of claims from PollClaims, or the sessions of the tokens named.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.v1.RenewClaimsResponse> renewClaims(
        io.perdure.v1.RenewClaimsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRenewClaimsMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_COMPLETE = 0;
  private static final int METHODID_HEARTBEAT = 1;
  private static final int METHODID_POLL_CLAIMS = 2;
  private static final int METHODID_RENEW_CLAIMS = 3;
  private static final int METHODID_CLAIM = 4;

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
        case METHODID_COMPLETE:
          serviceImpl.complete((io.perdure.v1.CompleteRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.CompleteResponse>) responseObserver);
          break;
        case METHODID_HEARTBEAT:
          serviceImpl.heartbeat((io.perdure.v1.HeartbeatRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.HeartbeatResponse>) responseObserver);
          break;
        case METHODID_POLL_CLAIMS:
          serviceImpl.pollClaims((io.perdure.v1.PollClaimsRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.PollClaimsResponse>) responseObserver);
          break;
        case METHODID_RENEW_CLAIMS:
          serviceImpl.renewClaims((io.perdure.v1.RenewClaimsRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.v1.RenewClaimsResponse>) responseObserver);
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
        case METHODID_CLAIM:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.claim(
              (io.grpc.stub.StreamObserver<io.perdure.v1.ClaimResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getClaimMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              io.perdure.v1.ClaimRequest,
              io.perdure.v1.ClaimResponse>(
                service, METHODID_CLAIM)))
        .addMethod(
          getCompleteMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.CompleteRequest,
              io.perdure.v1.CompleteResponse>(
                service, METHODID_COMPLETE)))
        .addMethod(
          getHeartbeatMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.HeartbeatRequest,
              io.perdure.v1.HeartbeatResponse>(
                service, METHODID_HEARTBEAT)))
        .addMethod(
          getPollClaimsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.PollClaimsRequest,
              io.perdure.v1.PollClaimsResponse>(
                service, METHODID_POLL_CLAIMS)))
        .addMethod(
          getRenewClaimsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.v1.RenewClaimsRequest,
              io.perdure.v1.RenewClaimsResponse>(
                service, METHODID_RENEW_CLAIMS)))
        .build();
  }

  private static abstract class WorkerServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    WorkerServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.perdure.v1.WorkerServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("WorkerService");
    }
  }

  private static final class WorkerServiceFileDescriptorSupplier
      extends WorkerServiceBaseDescriptorSupplier {
    WorkerServiceFileDescriptorSupplier() {}
  }

  private static final class WorkerServiceMethodDescriptorSupplier
      extends WorkerServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    WorkerServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (WorkerServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new WorkerServiceFileDescriptorSupplier())
              .addMethod(getClaimMethod())
              .addMethod(getCompleteMethod())
              .addMethod(getHeartbeatMethod())
              .addMethod(getPollClaimsMethod())
              .addMethod(getRenewClaimsMethod())
              .build();
        }
      }
    }
    return result;
  }
}
