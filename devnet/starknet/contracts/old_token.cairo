// A token of the first days: camelCase entry points, amounts of a single felt, no decimals; `burst` always fails.

use starknet::ContractAddress;

#[starknet::interface]
trait IOldToken<TState> {
    fn balanceOf(self: @TState, account: ContractAddress) -> felt252;
    fn decimals(self: @TState) -> felt252;
    fn burst(self: @TState) -> felt252;
}

#[starknet::contract]
mod OldToken {
    use starknet::ContractAddress;

    #[storage]
    struct Storage {
        balances: LegacyMap<ContractAddress, felt252>,
        decimals: felt252,
    }

    #[constructor]
    fn constructor(ref self: ContractState, decimals: felt252, supply: felt252, recipient: ContractAddress) {
        self.decimals.write(decimals);
        self.balances.write(recipient, supply);
    }

    #[external(v0)]
    impl OldTokenImpl of super::IOldToken<ContractState> {
        fn balanceOf(self: @ContractState, account: ContractAddress) -> felt252 {
            self.balances.read(account)
        }
        fn decimals(self: @ContractState) -> felt252 {
            self.decimals.read()
        }
        fn burst(self: @ContractState) -> felt252 {
            assert(self.decimals.read() == 'never', 'this always fails');
            0
        }
    }
}
