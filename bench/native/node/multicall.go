package main

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
)

const (
	aggregate3 = "82ad56cb"
	// balanceOf(address), decimals() and symbol() of a token.
	balanceOf = "70a08231"
	decimals  = "313ce567"
	symbol    = "95d89b41"
	name      = "06fdde03"
)

var errNotAnswered = errors.New("the stand-in does not answer this call")

// run returns the hex digits that an eth_call returns at a block: of Multicall3's aggregate3 what each call in it
// returns, as Multicall3 encodes it, else what the one call does.
func (c *chain) run(data string, number uint64) (string, error) {
	data = strings.TrimPrefix(data, "0x")
	if !strings.HasPrefix(data, aggregate3) {
		return c.call(data, number)
	}
	input, err := hex.DecodeString(data[8:])
	if err != nil {
		return "", err
	}
	calls, err := decodeCalls(input)
	if err != nil {
		return "", err
	}
	heads, tails := make([]byte, 0, 32*len(calls)), make([]byte, 0, 192*len(calls))
	for _, one := range calls {
		returned, err := c.call(hex.EncodeToString(one), number)
		if err != nil {
			return "", err
		}
		content, err := hex.DecodeString(returned)
		if err != nil {
			return "", err
		}
		heads = append(heads, word(uint64(32*len(calls)+len(tails)))...)
		tails = append(tails, word(1)...)
		tails = append(tails, word(64)...)
		tails = append(tails, word(uint64(len(content)))...)
		tails = append(tails, content...)
		tails = append(tails, make([]byte, -len(content)&31)...)
	}
	whole := append(word(32), word(uint64(len(calls)))...)
	return hex.EncodeToString(append(append(whole, heads...), tails...)), nil
}

// decodeCalls returns the calldata of each call of aggregate3((address,bool,bytes)[]).
func decodeCalls(input []byte) ([][]byte, error) {
	at := func(place uint64) (uint64, error) {
		if place+32 > uint64(len(input)) {
			return 0, errors.New("the calldata is cut short")
		}
		return binary.BigEndian.Uint64(input[place+24 : place+32]), nil
	}
	start, err := at(0)
	if err != nil {
		return nil, err
	}
	count, err := at(start)
	if err != nil || count > 10_000 {
		return nil, errors.New("the calldata is cut short")
	}
	base := start + 32
	calls := make([][]byte, count)
	for place := range calls {
		offset, err := at(base + 32*uint64(place))
		if err != nil {
			return nil, err
		}
		inner, err := at(base + offset + 64)
		if err != nil {
			return nil, err
		}
		from := base + offset + inner
		size, err := at(from)
		if err != nil || from+32+size > uint64(len(input)) {
			return nil, errors.New("a call lies outside the calldata")
		}
		calls[place] = input[from+32 : from+32+size]
	}
	return calls, nil
}

// call returns the hex digits that one call returns, by its selector alone.
func (c *chain) call(data string, number uint64) (string, error) {
	if len(data) < 8 {
		return "", errNotAnswered
	}
	selector, arguments := data[:8], data[8:]
	switch selector {
	case "42cbb15c": // getBlockNumber()
		return hex.EncodeToString(word(number)), nil
	case "0f28c97d": // getCurrentBlockTimestamp()
		return hex.EncodeToString(word(c.madeAt(number))), nil
	case "3408e470": // getChainId()
		return hex.EncodeToString(word(c.id)), nil
	case "27e86d6e": // getLastBlockHash()
		hash := c.at(number - 1).hash
		return hex.EncodeToString(hash[:]), nil
	case "72425d9d": // getCurrentBlockDifficulty(), which is prevrandao
		hash := derive("randao", number, 0)
		return hex.EncodeToString(hash[:]), nil
	case "4d2301cc", balanceOf: // getEthBalance(address)
		if len(arguments) != 64 {
			return "", errNotAnswered
		}
		return hex.EncodeToString(word(balance(arguments[24:]))), nil
	case decimals:
		return hex.EncodeToString(word(6)), nil
	case symbol, name:
		text := append(word(32), word(4)...)
		return hex.EncodeToString(append(text, append([]byte("USDC"), make([]byte, 28)...)...)), nil
	}
	return "", errNotAnswered
}

// balance returns the invented balance of an account, of which no two addresses that differ in the last 32 bits have
// the same.
func balance(address string) uint64 {
	digits, err := hex.DecodeString(address[len(address)-8:])
	if err != nil {
		return 0
	}
	return 1_000_000_000_000_000_000 + uint64(binary.BigEndian.Uint32(digits))
}

func word(number uint64) []byte {
	text := make([]byte, 32)
	binary.BigEndian.PutUint64(text[24:], number)
	return text
}
