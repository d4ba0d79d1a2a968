/**
 * The generated messages and services, for what the library does not wrap:
 * `client.stub(AdminService).listAuditRecords({ ... })`.
 *
 * @packageDocumentation
 */

export * from "./gen/google/rpc/error_details_pb.js";
export * from "./gen/google/rpc/status_pb.js";
export * from "./gen/perdure/testing/v1/test_service_pb.js";
export * from "./gen/perdure/v1/admin_service_pb.js";
export * from "./gen/perdure/v1/claim_pb.js";
export * from "./gen/perdure/v1/definition_pb.js";
export * from "./gen/perdure/v1/errors_pb.js";
export * from "./gen/perdure/v1/filter_pb.js";
export * from "./gen/perdure/v1/payload_pb.js";
export * from "./gen/perdure/v1/resource_pb.js";
export * from "./gen/perdure/v1/scripted_pb.js";
export * from "./gen/perdure/v1/wait_pb.js";
export * from "./gen/perdure/v1/watch_pb.js";
export * from "./gen/perdure/v1/worker_service_pb.js";
export * from "./gen/perdure/v1/workflow_pb.js";
export * from "./gen/perdure/v1/workflow_service_pb.js";
