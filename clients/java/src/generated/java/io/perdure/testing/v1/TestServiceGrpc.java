package io.perdure.testing.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Moves the clock, plays the worker, and waits until nothing moves.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class TestServiceGrpc {

  private TestServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "perdure.testing.v1.TestService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.perdure.testing.v1.AdvanceTimeRequest,
      io.perdure.testing.v1.AdvanceTimeResponse> getAdvanceTimeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AdvanceTime",
      requestType = io.perdure.testing.v1.AdvanceTimeRequest.class,
      responseType = io.perdure.testing.v1.AdvanceTimeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.testing.v1.AdvanceTimeRequest,
      io.perdure.testing.v1.AdvanceTimeResponse> getAdvanceTimeMethod() {
    io.grpc.MethodDescriptor<io.perdure.testing.v1.AdvanceTimeRequest, io.perdure.testing.v1.AdvanceTimeResponse> getAdvanceTimeMethod;
    if ((getAdvanceTimeMethod = TestServiceGrpc.getAdvanceTimeMethod) == null) {
      synchronized (TestServiceGrpc.class) {
        if ((getAdvanceTimeMethod = TestServiceGrpc.getAdvanceTimeMethod) == null) {
          TestServiceGrpc.getAdvanceTimeMethod = getAdvanceTimeMethod =
              io.grpc.MethodDescriptor.<io.perdure.testing.v1.AdvanceTimeRequest, io.perdure.testing.v1.AdvanceTimeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AdvanceTime"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.testing.v1.AdvanceTimeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.testing.v1.AdvanceTimeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TestServiceMethodDescriptorSupplier("AdvanceTime"))
              .build();
        }
      }
    }
    return getAdvanceTimeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.testing.v1.ScriptOutcomesRequest,
      io.perdure.testing.v1.ScriptOutcomesResponse> getScriptOutcomesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ScriptOutcomes",
      requestType = io.perdure.testing.v1.ScriptOutcomesRequest.class,
      responseType = io.perdure.testing.v1.ScriptOutcomesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.testing.v1.ScriptOutcomesRequest,
      io.perdure.testing.v1.ScriptOutcomesResponse> getScriptOutcomesMethod() {
    io.grpc.MethodDescriptor<io.perdure.testing.v1.ScriptOutcomesRequest, io.perdure.testing.v1.ScriptOutcomesResponse> getScriptOutcomesMethod;
    if ((getScriptOutcomesMethod = TestServiceGrpc.getScriptOutcomesMethod) == null) {
      synchronized (TestServiceGrpc.class) {
        if ((getScriptOutcomesMethod = TestServiceGrpc.getScriptOutcomesMethod) == null) {
          TestServiceGrpc.getScriptOutcomesMethod = getScriptOutcomesMethod =
              io.grpc.MethodDescriptor.<io.perdure.testing.v1.ScriptOutcomesRequest, io.perdure.testing.v1.ScriptOutcomesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ScriptOutcomes"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.testing.v1.ScriptOutcomesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.testing.v1.ScriptOutcomesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TestServiceMethodDescriptorSupplier("ScriptOutcomes"))
              .build();
        }
      }
    }
    return getScriptOutcomesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.perdure.testing.v1.WaitIdleRequest,
      io.perdure.testing.v1.WaitIdleResponse> getWaitIdleMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WaitIdle",
      requestType = io.perdure.testing.v1.WaitIdleRequest.class,
      responseType = io.perdure.testing.v1.WaitIdleResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.perdure.testing.v1.WaitIdleRequest,
      io.perdure.testing.v1.WaitIdleResponse> getWaitIdleMethod() {
    io.grpc.MethodDescriptor<io.perdure.testing.v1.WaitIdleRequest, io.perdure.testing.v1.WaitIdleResponse> getWaitIdleMethod;
    if ((getWaitIdleMethod = TestServiceGrpc.getWaitIdleMethod) == null) {
      synchronized (TestServiceGrpc.class) {
        if ((getWaitIdleMethod = TestServiceGrpc.getWaitIdleMethod) == null) {
          TestServiceGrpc.getWaitIdleMethod = getWaitIdleMethod =
              io.grpc.MethodDescriptor.<io.perdure.testing.v1.WaitIdleRequest, io.perdure.testing.v1.WaitIdleResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WaitIdle"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.testing.v1.WaitIdleRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.perdure.testing.v1.WaitIdleResponse.getDefaultInstance()))
              .setSchemaDescriptor(new TestServiceMethodDescriptorSupplier("WaitIdle"))
              .build();
        }
      }
    }
    return getWaitIdleMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static TestServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TestServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TestServiceStub>() {
        @java.lang.Override
        public TestServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TestServiceStub(channel, callOptions);
        }
      };
    return TestServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static TestServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TestServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TestServiceBlockingV2Stub>() {
        @java.lang.Override
        public TestServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TestServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return TestServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static TestServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TestServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TestServiceBlockingStub>() {
        @java.lang.Override
        public TestServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TestServiceBlockingStub(channel, callOptions);
        }
      };
    return TestServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static TestServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<TestServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<TestServiceFutureStub>() {
        @java.lang.Override
        public TestServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new TestServiceFutureStub(channel, callOptions);
        }
      };
    return TestServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Moves the clock, plays the worker, and waits until nothing moves.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Moves due times and timeouts as if time had passed, and fires what became due, in order.
     * Leases, acknowledgement windows and silence go on by real time.
     * </pre>
     */
    default void advanceTime(io.perdure.testing.v1.AdvanceTimeRequest request,
        io.grpc.stub.StreamObserver<io.perdure.testing.v1.AdvanceTimeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAdvanceTimeMethod(), responseObserver);
    }

    /**
     * <pre>
     * Tells how attempts end, so that no worker is needed.
     * </pre>
     */
    default void scriptOutcomes(io.perdure.testing.v1.ScriptOutcomesRequest request,
        io.grpc.stub.StreamObserver<io.perdure.testing.v1.ScriptOutcomesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getScriptOutcomesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Waits until nothing can move without time, a signal or a worker.
     * </pre>
     */
    default void waitIdle(io.perdure.testing.v1.WaitIdleRequest request,
        io.grpc.stub.StreamObserver<io.perdure.testing.v1.WaitIdleResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWaitIdleMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service TestService.
   * <pre>
   * Moves the clock, plays the worker, and waits until nothing moves.
   * </pre>
   */
  public static abstract class TestServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return TestServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service TestService.
   * <pre>
   * Moves the clock, plays the worker, and waits until nothing moves.
   * </pre>
   */
  public static final class TestServiceStub
      extends io.grpc.stub.AbstractAsyncStub<TestServiceStub> {
    private TestServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TestServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TestServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Moves due times and timeouts as if time had passed, and fires what became due, in order.
     * Leases, acknowledgement windows and silence go on by real time.
     * </pre>
     */
    public void advanceTime(io.perdure.testing.v1.AdvanceTimeRequest request,
        io.grpc.stub.StreamObserver<io.perdure.testing.v1.AdvanceTimeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAdvanceTimeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Tells how attempts end, so that no worker is needed.
     * </pre>
     */
    public void scriptOutcomes(io.perdure.testing.v1.ScriptOutcomesRequest request,
        io.grpc.stub.StreamObserver<io.perdure.testing.v1.ScriptOutcomesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getScriptOutcomesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Waits until nothing can move without time, a signal or a worker.
     * </pre>
     */
    public void waitIdle(io.perdure.testing.v1.WaitIdleRequest request,
        io.grpc.stub.StreamObserver<io.perdure.testing.v1.WaitIdleResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getWaitIdleMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service TestService.
   * <pre>
   * Moves the clock, plays the worker, and waits until nothing moves.
   * </pre>
   */
  public static final class TestServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<TestServiceBlockingV2Stub> {
    private TestServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TestServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TestServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Moves due times and timeouts as if time had passed, and fires what became due, in order.
     * Leases, acknowledgement windows and silence go on by real time.
     * </pre>
     */
    public io.perdure.testing.v1.AdvanceTimeResponse advanceTime(io.perdure.testing.v1.AdvanceTimeRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAdvanceTimeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Tells how attempts end, so that no worker is needed.
     * </pre>
     */
    public io.perdure.testing.v1.ScriptOutcomesResponse scriptOutcomes(io.perdure.testing.v1.ScriptOutcomesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getScriptOutcomesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Waits until nothing can move without time, a signal or a worker.
     * </pre>
     */
    public io.perdure.testing.v1.WaitIdleResponse waitIdle(io.perdure.testing.v1.WaitIdleRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getWaitIdleMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service TestService.
   * <pre>
   * Moves the clock, plays the worker, and waits until nothing moves.
   * </pre>
   */
  public static final class TestServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<TestServiceBlockingStub> {
    private TestServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TestServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TestServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Moves due times and timeouts as if time had passed, and fires what became due, in order.
     * Leases, acknowledgement windows and silence go on by real time.
     * </pre>
     */
    public io.perdure.testing.v1.AdvanceTimeResponse advanceTime(io.perdure.testing.v1.AdvanceTimeRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAdvanceTimeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Tells how attempts end, so that no worker is needed.
     * </pre>
     */
    public io.perdure.testing.v1.ScriptOutcomesResponse scriptOutcomes(io.perdure.testing.v1.ScriptOutcomesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getScriptOutcomesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Waits until nothing can move without time, a signal or a worker.
     * </pre>
     */
    public io.perdure.testing.v1.WaitIdleResponse waitIdle(io.perdure.testing.v1.WaitIdleRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getWaitIdleMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service TestService.
   * <pre>
   * Moves the clock, plays the worker, and waits until nothing moves.
   * </pre>
   */
  public static final class TestServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<TestServiceFutureStub> {
    private TestServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected TestServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new TestServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Moves due times and timeouts as if time had passed, and fires what became due, in order.
     * Leases, acknowledgement windows and silence go on by real time.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.testing.v1.AdvanceTimeResponse> advanceTime(
        io.perdure.testing.v1.AdvanceTimeRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAdvanceTimeMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Tells how attempts end, so that no worker is needed.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.testing.v1.ScriptOutcomesResponse> scriptOutcomes(
        io.perdure.testing.v1.ScriptOutcomesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getScriptOutcomesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Waits until nothing can move without time, a signal or a worker.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.perdure.testing.v1.WaitIdleResponse> waitIdle(
        io.perdure.testing.v1.WaitIdleRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getWaitIdleMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_ADVANCE_TIME = 0;
  private static final int METHODID_SCRIPT_OUTCOMES = 1;
  private static final int METHODID_WAIT_IDLE = 2;

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
        case METHODID_ADVANCE_TIME:
          serviceImpl.advanceTime((io.perdure.testing.v1.AdvanceTimeRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.testing.v1.AdvanceTimeResponse>) responseObserver);
          break;
        case METHODID_SCRIPT_OUTCOMES:
          serviceImpl.scriptOutcomes((io.perdure.testing.v1.ScriptOutcomesRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.testing.v1.ScriptOutcomesResponse>) responseObserver);
          break;
        case METHODID_WAIT_IDLE:
          serviceImpl.waitIdle((io.perdure.testing.v1.WaitIdleRequest) request,
              (io.grpc.stub.StreamObserver<io.perdure.testing.v1.WaitIdleResponse>) responseObserver);
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
          getAdvanceTimeMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.testing.v1.AdvanceTimeRequest,
              io.perdure.testing.v1.AdvanceTimeResponse>(
                service, METHODID_ADVANCE_TIME)))
        .addMethod(
          getScriptOutcomesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.testing.v1.ScriptOutcomesRequest,
              io.perdure.testing.v1.ScriptOutcomesResponse>(
                service, METHODID_SCRIPT_OUTCOMES)))
        .addMethod(
          getWaitIdleMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.perdure.testing.v1.WaitIdleRequest,
              io.perdure.testing.v1.WaitIdleResponse>(
                service, METHODID_WAIT_IDLE)))
        .build();
  }

  private static abstract class TestServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    TestServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.perdure.testing.v1.TestServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("TestService");
    }
  }

  private static final class TestServiceFileDescriptorSupplier
      extends TestServiceBaseDescriptorSupplier {
    TestServiceFileDescriptorSupplier() {}
  }

  private static final class TestServiceMethodDescriptorSupplier
      extends TestServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    TestServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (TestServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new TestServiceFileDescriptorSupplier())
              .addMethod(getAdvanceTimeMethod())
              .addMethod(getScriptOutcomesMethod())
              .addMethod(getWaitIdleMethod())
              .build();
        }
      }
    }
    return result;
  }
}
