// A token that answers to the snake_case entry points alone.

use starknet::ContractAddress;

#[starknet::interface]
trait ISnakeToken<TState> {
    fn symbol(self: @TState) -> felt252;
    fn decimals(self: @TState) -> u8;
    fn total_supply(self: @TState) -> u256;
    fn balance_of(self: @TState, account: ContractAddress) -> u256;
}

#[starknet::contract]
mod SnakeToken {
    use starknet::ContractAddress;

    #[storage]
    struct Storage {
        symbol: felt252,
        decimals: u8,
        total_supply: u256,
        balances: LegacyMap<ContractAddress, u256>,
    }

    #[constructor]
    fn constructor(
        ref self: ContractState, symbol: felt252, decimals: u8, supply: u256, recipient: ContractAddress
    ) {
        self.symbol.write(symbol);
        self.decimals.write(decimals);
        self.total_supply.write(supply);
        self.balances.write(recipient, supply);
    }

    #[external(v0)]
    impl SnakeTokenImpl of super::ISnakeToken<ContractState> {
        fn symbol(self: @ContractState) -> felt252 {
            self.symbol.read()
        }
        fn decimals(self: @ContractState) -> u8 {
            self.decimals.read()
        }
        fn total_supply(self: @ContractState) -> u256 {
            self.total_supply.read()
        }
        fn balance_of(self: @ContractState, account: ContractAddress) -> u256 {
            self.balances.read(account)
        }
    }
}
