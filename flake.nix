{
  description = "Keeps what AI agents learned, doubted, tried and decided inside the repository, as git notes";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      manifest = builtins.fromTOML (builtins.readFile ./Cargo.toml);
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
    in
    {
      packages = nixpkgs.lib.genAttrs systems (
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        {
          default = pkgs.rustPlatform.buildRustPackage {
            pname = manifest.package.name;
            version = manifest.workspace.package.version;
            src = self;
            cargoLock.lockFile = ./Cargo.lock;
            cargoBuildFlags = [
              "--bin"
              "git-empirica"
            ];
            # the tests need remotes, other shells and agents
            doCheck = false;
            nativeBuildInputs = [ pkgs.installShellFiles ];
            postInstall = ''
              installManPage man/*.1
              installShellCompletion --cmd git-empirica \
                --bash src/cli/help/shells/git-empirica.bash \
                --zsh src/cli/help/shells/_git-empirica \
                --fish src/cli/help/shells/git-empirica.fish
            '';
            meta = {
              description = manifest.package.description;
              license = [
                pkgs.lib.licenses.mit
                pkgs.lib.licenses.asl20
              ];
              mainProgram = "git-empirica";
            };
          };
        }
      );
    };
}
