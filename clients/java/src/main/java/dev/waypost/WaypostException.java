package dev.waypost;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RequestInfo;
import com.google.rpc.RetryInfo;
import dev.waypost.v1.Reason;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/** A failure that the gateway answered with, or of the connection to it (then without a reason). */
public final class WaypostException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private Reason reason = Reason.REASON_UNSPECIFIED;
    private String field;
    private Duration retryAfter;
    private String requestId;
    private Map<String, String> facts = Map.of();
    private final Status.Code code;

    private WaypostException(StatusRuntimeException cause) {
        super(cause.getStatus().getDescription(), cause);
        code = cause.getStatus().getCode();
    }

    /** Returns what a call of a stub threw as one of these. */
    public static WaypostException of(StatusRuntimeException thrown) {
        WaypostException failure = new WaypostException(thrown);
        com.google.rpc.Status status = StatusProto.fromThrowable(thrown);
        if (status != null) {
            try {
                for (Any detail : status.getDetailsList()) {
                    failure.read(detail);
                }
            } catch (InvalidProtocolBufferException malformed) {
                failure.addSuppressed(malformed);
            }
        }
        return failure;
    }

    private void read(Any detail) throws InvalidProtocolBufferException {
        if (detail.is(ErrorInfo.class)) {
            ErrorInfo info = detail.unpack(ErrorInfo.class);
            facts = info.getMetadataMap();
            var value = Reason.getDescriptor().findValueByName("REASON_" + info.getReason());
            reason = value == null ? Reason.REASON_UNSPECIFIED : Reason.forNumber(value.getNumber());
        } else if (detail.is(BadRequest.class)) {
            field = detail.unpack(BadRequest.class).getFieldViolationsList().stream()
                    .findFirst()
                    .map(BadRequest.FieldViolation::getField)
                    .orElse(null);
        } else if (detail.is(RetryInfo.class)) {
            var delay = detail.unpack(RetryInfo.class).getRetryDelay();
            retryAfter = Duration.ofSeconds(delay.getSeconds(), delay.getNanos());
        } else if (detail.is(RequestInfo.class)) {
            requestId = detail.unpack(RequestInfo.class).getRequestId();
        }
    }

    /** Returns what a program decides by; stable. REASON_UNSPECIFIED where no gateway answered, or a newer one. */
    public Reason getReason() {
        return reason;
    }

    /** Returns the gRPC status code. */
    public Status.Code getCode() {
        return code;
    }

    /** Returns the parameter that the failure is about, where it is about one. */
    public Optional<String> getField() {
        return Optional.ofNullable(field);
    }

    /** Returns how long to wait before the same call may succeed, where the gateway says. */
    public Optional<Duration> getRetryAfter() {
        return Optional.ofNullable(retryAfter);
    }

    /** Returns what to quote to the operator. */
    public Optional<String> getRequestId() {
        return Optional.ofNullable(requestId);
    }

    /** Returns further facts of the failure by name. */
    public Map<String, String> getFacts() {
        return facts;
    }

    /** Returns how long to wait where the call was refused for the key's quota alone. */
    Optional<Duration> waitForQuota() {
        return reason == Reason.REASON_RATE_LIMITED ? getRetryAfter() : Optional.empty();
    }
}
