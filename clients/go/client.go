// Package waypost connects to a Waypost gateway over gRPC. The stubs of its services are in the packages
// [github.com/waypost/waypost/clients/go/waypost/v1] and below; this package opens connections with a key, turns failures
// into typed errors and walks through pages.
//
//	conn, err := waypost.Dial("localhost:50051", waypost.Key("local"))
//	balance, err := waypostv1.NewAccountServiceClient(conn).GetBalance(ctx, &waypostv1.GetBalanceRequest{
//		Chain: "ethereum", Address: "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
//	})
package waypost

import (
	"context"
	_ "embed"
	"errors"
	"io"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// LargestAnswer is the size of the largest answer that a gateway sends, in bytes.
const LargestAnswer = 64 << 20

// A stream whose connection is gone without a word ends after so long.
const (
	pingAfter   = 45 * time.Second
	pingTimeout = 15 * time.Second
)

//go:embed service_config.json
var serviceConfig string

type settings struct {
	key       string
	plaintext bool
	waits     int
	dial      []grpc.DialOption
}

// Option changes how Dial connects.
type Option func(*settings)

// Key is the API key that every call carries.
func Key(key string) Option { return func(s *settings) { s.key = key } }

// Plaintext connects without TLS. Without it, only addresses of this machine are spoken to in plaintext.
func Plaintext() Option { return func(s *settings) { s.plaintext = true } }

// RateLimitWaits is how often a call that exceeds the key's quota waits for as long as the gateway says and is sent
// again, within its context's deadline; 3 without this option.
func RateLimitWaits(times int) Option { return func(s *settings) { s.waits = times } }

// DialOptions are handed on to grpc.NewClient, after this package's own.
func DialOptions(options ...grpc.DialOption) Option {
	return func(s *settings) { s.dial = append(s.dial, options...) }
}

// Dial returns a connection to the gateway at target, "host:port", for the services' NewXxxClient. It is opened by the
// first call. Failures of its calls and streams are of type *Error; what the gateway cannot answer at the moment is
// retried as its service config says, with the deadlines of that where the context has none. Streams have no deadline,
// and who reads one opens it again, at the cursor of the last event.
func Dial(target string, options ...Option) (*grpc.ClientConn, error) {
	chosen := settings{waits: 3}
	for _, option := range options {
		option(&chosen)
	}
	plaintext := chosen.plaintext || isLocal(target)
	transport := credentials.NewTLS(nil)
	if plaintext {
		transport = insecure.NewCredentials()
	}
	dial := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(LargestAnswer)),
		grpc.WithChainUnaryInterceptor(intercept(chosen.waits)),
		grpc.WithChainStreamInterceptor(interceptStream),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingAfter, Timeout: pingTimeout}),
	}
	if chosen.key != "" {
		dial = append(dial, grpc.WithPerRPCCredentials(apiKey{chosen.key, !plaintext}))
	}
	return grpc.NewClient(target, append(dial, chosen.dial...)...)
}

func isLocal(target string) bool {
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		return false
	}
	address := net.ParseIP(host)
	return host == "localhost" || (address != nil && address.IsLoopback())
}

type apiKey struct {
	key    string
	secure bool
}

func (k apiKey) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"x-api-key": k.key}, nil
}

func (k apiKey) RequireTransportSecurity() bool { return k.secure }

// intercept returns an interceptor that makes failures typed and waits out refusals for quota.
func intercept(waits int) grpc.UnaryClientInterceptor {
	return func(
		ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
		options ...grpc.CallOption,
	) error {
		for left := waits; ; left-- {
			failure := typed(invoke(ctx, method, request, reply, conn, options...))
			var refusal *Error
			if left <= 0 || !errors.As(failure, &refusal) || !refusal.retriesForQuota() || !pause(ctx, refusal.RetryAfter) {
				return failure
			}
		}
	}
}

// interceptStream makes failures of streams typed.
func interceptStream(
	ctx context.Context, description *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer,
	options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	stream, err := open(ctx, description, conn, method, options...)
	if err != nil {
		return nil, typed(err)
	}
	return typedStream{stream}, nil
}

type typedStream struct{ grpc.ClientStream }

func (s typedStream) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	if errors.Is(err, io.EOF) {
		return err
	}
	return typed(err)
}

// pause waits and returns true, or false at once where the context would end before.
func pause(ctx context.Context, wait time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
