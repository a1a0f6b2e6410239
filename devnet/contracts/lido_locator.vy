# pragma version 0.4.3
# Stand-in for Lido's locator: where the other contracts of the protocol stand.

accountingOracle: public(address)
depositSecurityModule: public(address)
elRewardsVault: public(address)
lido: public(address)
oracleReportSanityChecker: public(address)
burner: public(address)
stakingRouter: public(address)
treasury: public(address)
validatorsExitBusOracle: public(address)
withdrawalQueue: public(address)
withdrawalVault: public(address)
postTokenRebaseReceiver: public(address)
oracleDaemonConfig: public(address)
accounting: public(address)
wstETH: public(address)
vaultHub: public(address)


@external
def initialize(places: address[16]):
    assert self.lido == empty(address), "already initialized"
    self.accountingOracle = places[0]
    self.depositSecurityModule = places[1]
    self.elRewardsVault = places[2]
    self.lido = places[3]
    self.oracleReportSanityChecker = places[4]
    self.burner = places[5]
    self.stakingRouter = places[6]
    self.treasury = places[7]
    self.validatorsExitBusOracle = places[8]
    self.withdrawalQueue = places[9]
    self.withdrawalVault = places[10]
    self.postTokenRebaseReceiver = places[11]
    self.oracleDaemonConfig = places[12]
    self.accounting = places[13]
    self.wstETH = places[14]
    self.vaultHub = places[15]
