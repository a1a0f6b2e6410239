// Reads 50 balances in one call: go run ./examples/batch
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	waypost "github.com/waypost/waypost/clients/go"
	waypostv1 "github.com/waypost/waypost/clients/go/waypost/v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
)

var chains = []string{"ethereum", "base", "arbitrum", "optimism", "polygon"}

func main() {
	target, key := env("WAYPOST_GRPC", "localhost:50051"), env("WAYPOST_KEY", "local")
	conn, err := waypost.Dial(target, waypost.Key(key))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	var batch waypostv1.ExecuteRequest
	var asked []*waypostv1.GetBalanceRequest
	for account := range 10 {
		for _, chain := range chains {
			request := &waypostv1.GetBalanceRequest{Chain: chain, Address: fmt.Sprintf("0x%040x", account+1)}
			packed, err := anypb.New(request)
			if err != nil {
				log.Fatal(err)
			}
			asked, batch.Requests = append(asked, request), append(batch.Requests, packed)
		}
	}
	answer, err := waypostv1.NewBatchServiceClient(conn).Execute(context.Background(), &batch)
	if err != nil {
		log.Fatal(err)
	}
	for position, result := range answer.Results {
		fmt.Printf("%-9s %s %s\n", asked[position].Chain, asked[position].Address, outcome(result))
	}
}

func outcome(result *waypostv1.ExecuteResult) string {
	if failure := result.GetError(); failure != nil {
		return status.FromProto(failure).String()
	}
	var balance waypostv1.GetBalanceResponse
	if err := result.GetResponse().UnmarshalTo(&balance); err != nil {
		return err.Error()
	}
	return balance.Balance + " " + balance.Token
}

func env(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}
