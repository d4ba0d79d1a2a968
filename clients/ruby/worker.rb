#!/usr/bin/env ruby
# frozen_string_literal: true

# A worker in a language without a library: the generated stubs, PollClaims and Complete, and nothing else.
#
#   python -m tools.clients build ruby        writes the stubs to build/, with Debian's ruby-grpc-tools
#   ruby clients/ruby/worker.rb               serves the step `greet` of `letter`, on PERDURE_ADDRESS or `perdure dev`
#   perdure start letter ada --input '"Ada"' --wait

$LOAD_PATH.unshift(File.join(__dir__, "build"))

require "json"
require "socket"
require "perdure/v1/worker_service_services_pb"

V1 = Perdure::V1

POLL_SECONDS = 2 # also the longest that a SIGTERM waits
BACK_OFF_SECONDS = 0.5

# What the step does; its input is what the definition says that it needs. Raises ArgumentError for what is no name.
def greet(inputs)
  name = JSON.parse(inputs["input"].json, allow_nan: false)
  raise ArgumentError, "a letter is to somebody: a text, not #{name.class}" unless name.is_a?(String)

  "Dear #{name}"
end

# The definition travels with each poll: the server computes the contracts from it, and registers it the first time.
def poll
  letter = V1::Definition.new(workflow_type: "letter", steps: [V1::StepDefinition.new(name: "greet")])
  V1::PollClaimsRequest.new(
    worker_id: "#{Socket.gethostname}-#{Process.pid}",
    client_name: "perdure-ruby-sample",
    namespace: ENV.fetch("PERDURE_NAMESPACE", ""),
    definitions: [V1::OfferedDefinition.new(definition: letter, register: true)],
    pools: [V1::Pool.new(pool: "letter", workflow_type: "letter", definition_index: 0, slots: 1)],
    # Whoever dies loses the claim after its lease (30 s unless asked for), and it is claimed again. Longer work calls RenewClaims.
    wait_time: Google::Protobuf::Duration.new(seconds: POLL_SECONDS)
  )
end

# One claim's answer. A failure is retried by the definition's policy, unless it is marked as of no use.
def settle(claim)
  output = V1::Payload.new(json: JSON.generate(greet(claim.inputs)))
  V1::CompleteRequest.new(claim_token: claim.claim_token, completed: V1::Completed.new(output: output))
rescue ArgumentError => e
  failure = V1::Failure.new(type: "letter.input", message: e.message, non_retryable: true)
  V1::CompleteRequest.new(claim_token: claim.claim_token, failed: failure)
end

def complete(workers, claim)
  workers.complete(settle(claim))
rescue GRPC::FailedPrecondition => e
  # CLAIM_LOST: another has the step by now. Drop the work.
  warn "#{claim.workflow.business_key}: #{e.details}"
rescue GRPC::Unavailable, GRPC::DeadlineExceeded
  # The same outcome again is answered OK, so that asking again is always right.
  sleep BACK_OFF_SECONDS
  retry
end

stopping = false
trap("TERM") { stopping = true }
trap("INT") { stopping = true }

address = ENV.fetch("PERDURE_ADDRESS", "127.0.0.1:7463")
workers = V1::WorkerService::Stub.new(address, :this_channel_is_insecure)
puts "serves letter/greet at #{address}"
$stdout.flush
until stopping
  begin
    answer = workers.poll_claims(poll, deadline: Time.now + (5 * POLL_SECONDS))
    answer.claims.each { |claim| complete(workers, claim) }
  rescue GRPC::Unavailable, GRPC::DeadlineExceeded, GRPC::ResourceExhausted => e
    warn "no claims for now: #{e.details}"
    sleep BACK_OFF_SECONDS
  end
end
