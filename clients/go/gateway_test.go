package waypost_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	waypost "github.com/waypost/waypost/clients/go"
	waypostv1 "github.com/waypost/waypost/clients/go/waypost/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// dial connects to the gateway of `make clients`; without one the test is skipped.
func dial(t *testing.T, key string, options ...waypost.Option) *grpc.ClientConn {
	t.Helper()
	target := os.Getenv("WAYPOST_GRPC")
	if target == "" {
		t.Skip("no gateway: `make clients` serves one")
	}
	conn, err := waypost.Dial(target, append(options, waypost.Key(os.Getenv(key)))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func number(t *testing.T, name string) int64 {
	t.Helper()
	value, err := strconv.ParseInt(os.Getenv(name), 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value
}

func TestReadsABalance(t *testing.T) {
	accounts := waypostv1.NewAccountServiceClient(dial(t, "WAYPOST_KEY"))
	balance, err := accounts.GetBalance(deadline(t), &waypostv1.GetBalanceRequest{
		Chain: "ethereum", Address: os.Getenv("WAYPOST_HOLDER"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if balance.BalanceRaw != os.Getenv("WAYPOST_BALANCE") {
		t.Fatalf("%s is not %s", balance.BalanceRaw, os.Getenv("WAYPOST_BALANCE"))
	}
}

func TestFailsWithReasonAndField(t *testing.T) {
	accounts := waypostv1.NewAccountServiceClient(dial(t, "WAYPOST_KEY"))
	_, err := accounts.GetBalance(deadline(t), &waypostv1.GetBalanceRequest{Chain: "ethereum", Address: "0x12"})
	var failure *waypost.Error
	if !errors.As(err, &failure) {
		t.Fatalf("%v is no *waypost.Error", err)
	}
	if failure.Reason != waypostv1.Reason_REASON_INVALID_ARGUMENT || failure.Field != "address" || failure.RequestID == "" {
		t.Fatalf("%+v", failure)
	}
	if status.Code(err) != codes.InvalidArgument {
		t.Fatalf("gRPC's own functions see %s", status.Code(err))
	}
	_, err = accounts.GetBalance(deadline(t), &waypostv1.GetBalanceRequest{Chain: "atlantis", Address: "0x12"})
	if !errors.Is(err, &waypost.Error{Reason: waypostv1.Reason_REASON_CHAIN_UNKNOWN}) {
		t.Fatalf("%v is not CHAIN_UNKNOWN", err)
	}
}

func TestRowsFailByThemselves(t *testing.T) {
	blocks := waypostv1.NewBlockServiceClient(dial(t, "WAYPOST_KEY"))
	answer, err := blocks.GetBlockByNumber(deadline(t), &waypostv1.GetBlockByNumberRequest{
		Items: []*waypostv1.GetBlockByNumberItem{
			{Chain: "ethereum", Block: number(t, "WAYPOST_LOGS_FROM")},
			{Chain: "ethereum", Block: 1 << 40},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	good, bad := answer.Results[0], answer.Results[1]
	if good.GetValue() == nil || good.GetError() != nil {
		t.Fatalf("the first row has no block: %v", good)
	}
	if bad.GetError().GetReason() != waypostv1.Reason_REASON_NOT_FOUND || bad.GetValue() != nil {
		t.Fatalf("the second row has no error: %v", bad)
	}
}

func TestWalksThroughPages(t *testing.T) {
	logs := waypostv1.NewLogServiceClient(dial(t, "WAYPOST_KEY"))
	request := &waypostv1.GetLogsRequest{
		Chain:     "ethereum",
		Address:   proto.String(os.Getenv("WAYPOST_LOGS_ADDRESS")),
		FromBlock: proto.Int64(number(t, "WAYPOST_LOGS_FROM")),
		ToBlock:   proto.Int64(number(t, "WAYPOST_LOGS_TO")),
		PageSize:  2,
	}
	seen, pages := map[string]bool{}, 0
	for page, err := range waypost.Pages(deadline(t), logs.GetLogs, request) {
		if err != nil {
			t.Fatal(err)
		}
		pages++
		for _, log := range page.Logs {
			seen[log.TransactionHash+":"+strconv.FormatInt(int64(log.LogIndex), 10)] = true
		}
	}
	if count := number(t, "WAYPOST_LOGS_COUNT"); int64(len(seen)) != count || pages < 2 {
		t.Fatalf("%d logs on %d pages instead of %d", len(seen), pages, count)
	}
}

func TestWaitsWhereTheQuotaIsUsedUp(t *testing.T) {
	request := &waypostv1.GetBlockHeightRequest{Chain: "ethereum"}
	hasty := waypostv1.NewBlockServiceClient(dial(t, "WAYPOST_TIGHT_KEY", waypost.RateLimitWaits(0)))
	var failure *waypost.Error
	for range 50 {
		if _, err := hasty.GetBlockHeight(deadline(t), request); errors.As(err, &failure) {
			break
		}
	}
	if failure == nil || failure.Reason != waypostv1.Reason_REASON_RATE_LIMITED || failure.RetryAfter <= 0 {
		t.Fatalf("no refusal for quota: %v", failure)
	}
	patient := waypostv1.NewBlockServiceClient(dial(t, "WAYPOST_TIGHT_KEY"))
	for range 2 {
		if _, err := patient.GetBlockHeight(deadline(t), request); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFollowsAChainAndGoesOnAtACursor(t *testing.T) {
	streams := waypostv1.NewStreamServiceClient(dial(t, "WAYPOST_KEY"))
	first := nextBlock(t, streams, "")
	second := nextBlock(t, streams, first.Cursor)
	if second.Block.ParentHash != first.Block.Hash {
		t.Fatalf("%v does not follow %v", second.Block, first.Block)
	}
}

// nextBlock returns the next block that comes after the cursor's.
func nextBlock(t *testing.T, streams waypostv1.StreamServiceClient, cursor string) *waypostv1.WatchBlocksResponse {
	t.Helper()
	request := &waypostv1.WatchBlocksRequest{Chain: "base", Cursor: cursor}
	events, err := streams.WatchBlocks(deadline(t), request)
	if err != nil {
		t.Fatal(err)
	}
	for {
		event, err := events.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if event.Kind == waypostv1.EventKind_EVENT_KIND_ADDED && event.Cursor != cursor {
			return event
		}
	}
}

func TestStreamsFailWithReasonAndField(t *testing.T) {
	streams := waypostv1.NewStreamServiceClient(dial(t, "WAYPOST_KEY"))
	events, err := streams.WatchBlocks(deadline(t), &waypostv1.WatchBlocksRequest{Chain: "ethereum", Cursor: "none"})
	if err == nil {
		_, err = events.Recv()
	}
	var failure *waypost.Error
	if !errors.As(err, &failure) || failure.Reason != waypostv1.Reason_REASON_INVALID_ARGUMENT || failure.Field != "cursor" {
		t.Fatalf("%v", err)
	}
}

func TestGivesUpWaitingAtTheDeadline(t *testing.T) {
	client := waypostv1.NewBlockServiceClient(dial(t, "WAYPOST_TIGHT_KEY", waypost.RateLimitWaits(1000)))
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	for {
		if _, err := client.GetBlockHeight(ctx, &waypostv1.GetBlockHeightRequest{Chain: "ethereum"}); err != nil {
			return
		}
	}
}
